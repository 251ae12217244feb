PRAGMA page_size=16384;
BEGIN TRANSACTION;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('changed_since_leiden','0');
INSERT INTO meta VALUES('commits','42');
INSERT INTO meta VALUES('embedder','hash/64/2851ec3fb065');
INSERT INTO meta VALUES('epoch','8ed93ddf4c65cdad');
INSERT INTO meta VALUES('rates','{"chunk_s":0.01741065675014397,"call_s":8.0,"call_tokens_in":400.0,"call_tokens_out":120.0,"chunks":4.0,"calls":0.0}');
INSERT INTO meta VALUES('store','d836d43660085b83');
INSERT INTO meta VALUES('summarised_by','extractive');
INSERT INTO meta VALUES('version','5');
CREATE TABLE documents (
    document_id TEXT PRIMARY KEY,
    name        TEXT NOT NULL,          -- one live document a name; a new one of the same name replaces it
    title       TEXT NOT NULL DEFAULT '',
    labels      TEXT NOT NULL DEFAULT '[]',
    raw         BLOB NOT NULL,
    raw_crc     INTEGER NOT NULL,
    reader      TEXT NOT NULL,          -- name whose suffix chooses the reader; 'text' for bytes that are text already
    status      TEXT NOT NULL CHECK (status IN ('queued', 'running', 'indexed', 'parked')),
    code        TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL DEFAULT '',
    next_step   TEXT NOT NULL DEFAULT '',
    created_at  REAL NOT NULL
, failed_chunk TEXT NOT NULL DEFAULT '', shortfalls TEXT NOT NULL DEFAULT '[]', row_crc INTEGER NOT NULL DEFAULT 0);
INSERT INTO documents VALUES('1e9d2f46f585a80aee43d947','pumps.md','','[]',X'4a756e697065722057617264207265706f7274656420746865206661696c757265206f6620666f757220696e667573696f6e2070756d707320696e204d617263682e204561636820696e667573696f6e2070756d70207573656420612062617474657279207061636b2066726f6d206c6f74204c2d373731332e',3184831742,'text.txt','indexed','','','',1795256217.2495026588,'','[]',1607275220);
INSERT INTO documents VALUES('52be24ac82f60415420c238e','plant.md','','[]',X'4c6f74204c2d37373133206f66207468652062617474657279207061636b2063616d652066726f6d2074686520486172626f757220506c616e742e2054686520486172626f757220506c616e7420696e73706563747320746865207365616c206f662065766572792062617474657279207061636b2e',432758473,'text.txt','indexed','','','',1795256217.3163053989,'','[]',3540398020);
INSERT INTO documents VALUES('7fff4027cd39e651ca5b00f8','recall.md','','[]',X'4d61726961204f6b61666f72207369676e65642074686520726563616c6c206f66206c6f74204c2d37373133206f6e203420417072696c2e20546865204e6174696f6e616c20446576696365204167656e637920284e444129207075626c69736865642074686520726563616c6c2e20546865204e4441206f7665727365657320696e667573696f6e2070756d70732e',1548697789,'text.txt','indexed','','','',1795256217.3618528843,'','[]',287095994);
CREATE TABLE jobs (
    job_id      TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    tokens_in   INTEGER NOT NULL DEFAULT 0,
    tokens_out  INTEGER NOT NULL DEFAULT 0,
    calls       INTEGER NOT NULL DEFAULT 0,
    created_at  REAL NOT NULL,
    ended_at    REAL
, attempts INTEGER NOT NULL DEFAULT 0, not_before REAL NOT NULL DEFAULT 0, lease_until REAL NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0, committed INTEGER NOT NULL DEFAULT 0);
INSERT INTO jobs VALUES('b26fe36b263e71e4','1e9d2f46f585a80aee43d947',0,0,0,1795256217.2495026588,1795256217.3124442101,1,0.0,0.0,0,1);
INSERT INTO jobs VALUES('265da090c85cd969','52be24ac82f60415420c238e',0,0,0,1795256217.3163053989,1795256217.352374792,1,0.0,0.0,0,1);
INSERT INTO jobs VALUES('68a7c8565b677049','7fff4027cd39e651ca5b00f8',0,0,0,1795256217.3618528843,1795256217.4004507065,1,0.0,0.0,0,1);
CREATE TABLE chunks (
    chunk_id    TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL,
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL,
    start       INTEGER NOT NULL,
    end         INTEGER NOT NULL,
    tokens      INTEGER NOT NULL
);
INSERT INTO chunks VALUES('1e9d2f46f585a80aee43d947:0','1e9d2f46f585a80aee43d947',0,'Juniper Ward reported the failure of four infusion pumps in March. Each infusion pump used a battery pack from lot L-7713.',1276047497,0,122,25);
INSERT INTO chunks VALUES('52be24ac82f60415420c238e:0','52be24ac82f60415420c238e',0,'Lot L-7713 of the battery pack came from the Harbour Plant. The Harbour Plant inspects the seal of every battery pack.',1454613367,0,118,25);
INSERT INTO chunks VALUES('7fff4027cd39e651ca5b00f8:0','7fff4027cd39e651ca5b00f8',0,'Maria Okafor signed the recall of lot L-7713 on 4 April. The National Device Agency (NDA) published the recall. The NDA oversees infusion pumps.',3885339995,0,144,31);
CREATE TABLE entity_mentions (
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    key         TEXT NOT NULL,
    name        TEXT NOT NULL,
    type        TEXT NOT NULL,
    description TEXT NOT NULL
, crc INTEGER NOT NULL DEFAULT 0);
INSERT INTO entity_mentions VALUES('1e9d2f46f585a80aee43d947:0','juniper ward','Juniper Ward','person','Juniper Ward reported the failure of four infusion pumps in March.',2170517099);
INSERT INTO entity_mentions VALUES('1e9d2f46f585a80aee43d947:0','infusion pump','infusion pump','concept','Each infusion pump used a battery pack from lot L-7713.',1596440996);
INSERT INTO entity_mentions VALUES('1e9d2f46f585a80aee43d947:0','battery pack','battery pack','concept','Each infusion pump used a battery pack from lot L-7713.',3755439512);
INSERT INTO entity_mentions VALUES('1e9d2f46f585a80aee43d947:0','l 7713','L-7713','person','Each infusion pump used a battery pack from lot L-7713.',2630006116);
INSERT INTO entity_mentions VALUES('52be24ac82f60415420c238e:0','lot l 7713','Lot L-7713','concept','Lot L-7713 of the battery pack came from the Harbour Plant.',2056013425);
INSERT INTO entity_mentions VALUES('52be24ac82f60415420c238e:0','battery pack','battery pack','concept','Lot L-7713 of the battery pack came from the Harbour Plant.',2227913753);
INSERT INTO entity_mentions VALUES('52be24ac82f60415420c238e:0','harbour plant','Harbour Plant','concept','The Harbour Plant inspects the seal of every battery pack.',2917420718);
INSERT INTO entity_mentions VALUES('7fff4027cd39e651ca5b00f8:0','maria okafor','Maria Okafor','person','Maria Okafor signed the recall of lot L-7713 on 4 April.',1432763353);
INSERT INTO entity_mentions VALUES('7fff4027cd39e651ca5b00f8:0','l 7713','L-7713','person','Maria Okafor signed the recall of lot L-7713 on 4 April.',4026144016);
INSERT INTO entity_mentions VALUES('7fff4027cd39e651ca5b00f8:0','national device agency','National Device Agency','organization','The National Device Agency (NDA) published the recall.',1346007029);
INSERT INTO entity_mentions VALUES('7fff4027cd39e651ca5b00f8:0','nda','NDA','organization','The NDA oversees infusion pumps.',3649023789);
INSERT INTO entity_mentions VALUES('7fff4027cd39e651ca5b00f8:0','infusion pump','infusion pumps','concept','The NDA oversees infusion pumps.',1097351941);
CREATE TABLE relation_mentions (
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    source      TEXT NOT NULL,
    target      TEXT NOT NULL,
    description TEXT NOT NULL,
    keywords    TEXT NOT NULL,          -- JSON list
    strength    REAL NOT NULL
, crc INTEGER NOT NULL DEFAULT 0);
INSERT INTO relation_mentions VALUES('1e9d2f46f585a80aee43d947:0','infusion pump','battery pack','Each infusion pump used a battery pack from lot L-7713.','["use"]',1.0,14287977);
INSERT INTO relation_mentions VALUES('1e9d2f46f585a80aee43d947:0','battery pack','l 7713','Each infusion pump used a battery pack from lot L-7713.','["from"]',1.0,3279913906);
INSERT INTO relation_mentions VALUES('52be24ac82f60415420c238e:0','lot l 7713','harbour plant','Lot L-7713 of the battery pack came from the Harbour Plant.','["come from"]',1.0,4098385162);
INSERT INTO relation_mentions VALUES('52be24ac82f60415420c238e:0','lot l 7713','battery pack','Lot L-7713 of the battery pack came from the Harbour Plant.','["of"]',1.0,1723739976);
INSERT INTO relation_mentions VALUES('7fff4027cd39e651ca5b00f8:0','national device agency','nda','The National Device Agency (NDA) published the recall.','["is"]',1.0,3784019263);
INSERT INTO relation_mentions VALUES('7fff4027cd39e651ca5b00f8:0','nda','infusion pump','The NDA oversees infusion pumps.','["oversee"]',1.0,3309916172);
CREATE TABLE aliases (                  -- what entity resolution decided; a report, recomputed from the mentions
    key         TEXT PRIMARY KEY,
    canonical   TEXT NOT NULL,
    reason      TEXT NOT NULL,
    score       REAL NOT NULL
, crc INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO aliases VALUES('national device agency','nda','acronym',1.0,1313830436);
CREATE TABLE vectors (
    kind        TEXT NOT NULL CHECK (kind IN ('chunk', 'entity', 'relation')),
    key         TEXT NOT NULL,
    text_hash   TEXT NOT NULL,          -- of the embedded text: equal hash, equal vector
    vector      BLOB NOT NULL,          -- float32, little-endian
    crc         INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
INSERT INTO vectors VALUES('chunk','1e9d2f46f585a80aee43d947:0','71149a474a6695e5',X'0c9c81bc3cccbbbd65d64fbe214798bdc6a1193d69070bbef36f03be4d8d5bbd03b2f73d61abcdbb30d4cb3d1da8e13bc4eb1b3ecdf280bd6c8af43de8cd0c3c3e7f303e0f3b12bc493447bd052be4bd4a9e993d049571bd77fcde3d5a82393e16da8cbb7ed76c3e369618bec3ff313d627c1dbe2d97873c552e113e74ec0e3e87907fbd81399dbd57bbc03dcdf3fbbc0e74e3bdc464e83da18abd3d24e77abd0f3e80bcf0c96cbd535de8bc08d46abe752385bed6e55ebe49e48c3d654d9b3de88d7bbdc9ec1bbe93e3fa3befa189bdd153163e2c5b473d0ad66dbd9de183be76d8223cc752f63bfabaaebd0e49fabcb0b3933e430c67bee6b196bee1749e3d',1481343066);
INSERT INTO vectors VALUES('chunk','52be24ac82f60415420c238e:0','a879455e5d3f9864',X'13dd063d6408d1bde1bc0ebe5abc81bda32ae4bdddc3a7bd9644f73d600eb1bd53cba13ceb7abb3dbe45503d8d23e53d16d02d3eb6ab223e9aaafe3dec19713ec37e143d4b3c30bd30ebbd3da5bd10beddf7b83b18545a3d6a10603dea36893ef57f35be0dcf823e6fabc2bd1d85043d256127bd48b08bbdf7ad99bc1103abbb5a0892bd567dfabd739be63d50d31dbe78b4f83c0965ed3c7674f03ddbc61cbe40a630bcb9051dbe572b14beff1beebd8b47a9bd537809be4d8c67bd77119bbda5ff543cd2746a3d9ebcbfbd3735d4bd8a6170bb29c8883d0234473ebfc016be356725bcea69883e1b3f5cbc3f3d793e33ea17befbe84bbe4c7d82be7c87133e',1142966098);
INSERT INTO vectors VALUES('chunk','7fff4027cd39e651ca5b00f8:0','c8810587c0a428e0',X'eeeb583de826193dd1ad0cbe9d0bad3da80ba73d03bb82bc03e1403eee9002beeb9fd23cfcb857bcadb4963d709a883dcdb4903e1474e73d89061e3e6931ccbdb0951d3ce33c62ba7dd25ebc8fd1ae3dab5a8e3d9fcb28be66effdbd0dbe863ed3a8243df52be13d78d5d8bdc10372bd0c5a2ebe8a6fc03cfb040c3e66202f3e1c2ff03d9f9b563c2e98003e568df4bd6e8f713d85afb93d9df5713ed456423d2d17ddbb86d826bde8be3bbd91609ebd88accabda44751be35339b3d95ae02bd9f60b6bdc6c61d3cff30f23d89c84e3c651d233e6506b93da553df3c5b534cbe1c0aca3d89e5063e969effbd7659183e3906e0bc3ff45cbe785ec1beb9aad73d',394748646);
INSERT INTO vectors VALUES('entity','battery pack','d0784bfa780e1d10',X'a3f888bd3e3e63bd297164be9c4abe3baa560bbe4e3e05be9639953d1ee3cfbcce12033ec0c8863ce34d523d952a5b3e4007bc3d256b833d5822e83d9ea0e63dfd38e33d8b65afbcc01e9cbcbf5434be54b3853dc87b8f3d5fd36b3d8df19f3efcd23bbe93aa813ea3fb2cbeb152eb3dc9e169bd2a14cabd0c757c3d4f2e8bbc81b951be1eaf1cbea7f4313ee2eb273d01c12d3c19e2523c51157dbd430915be167057bd7758f5bd039801bda1160dbeb18ccfbd93ad07bece243e3d36168cbdd94c243d7c76e2bc9d659f3bee3d06bcdbb5b2bdd6e2923d25df4b3d3f963bbe5783cf3d2943403ee9f304bd61d6953debc6f83d655c90bee3679dbee362023d',3354859486);
INSERT INTO vectors VALUES('entity','harbour plant','b018b4b1f1625be1',X'd9780a3c371509be3fc437bd3093033d6303ed3a563327bd532ce53d969283bddf5dfe3dcbf5e73d6f94853dd2d729bd2dd74a3d0277da3d9049ce3d29c9513ea87e5c3b2902b2bcfff30e3ec3cf05be2ed3debc219ce73dacb9ee3ded02ac3ea68fbcbc20b5943eb27e31bd1a6d7a3cd3bc153dd03a43bd61f51dbd66d4a23c421794bda59fbdbb8ff2cf3dcbc069be247d0d3dcf06e63dfd6b3e3eb6ac3ebe94be89bdbba72bbd216870be4e3389bd0c57e5bde23d31bead2bbdbd51551bbebb727c3dcdf79a3d584c8ebe73bd12be4131da3b11b7163c0c04183e63dbc6bdf96b4f3c07375e3ef9e39c3bed29403e027954be23539ebdc846aabd33191b3e',1746576335);
INSERT INTO vectors VALUES('entity','infusion pump','231810760cac909e',X'9574083b301b30bcab1e65be4a0e3c3de23f7f3d118ecfbdb163ee3cf951b83a980f113e4bebd3bdd708293d95bd10bd934db13c493f8cbd5a8b1f3e651d93bdb766503eec0d24bd1140a8bd4908f5bd4f80713d07549fbd08145a3d02a29c3e19effb3c5a556d3e7b8a44bedba8e73c38c087bd81d97fbc077d043eb83e2b3e3b85f5bd7c5b753d4e6e2e3e5286493dd68fe53c961b433ed23c913d517ab7bc73772c3d0f35e43ce43715becf612ebe6d8a7bbee3ed27be8895633ea43fa3bdf680dc3d641c0fbd4ea9933da6da4abd78e5093d4825963d4bcf1abd44e91bbea69a2d3ea7ecac3decf3c2bda9d02ebdb77c523e79e566be2bd188bef77f3abd',1813976041);
INSERT INTO vectors VALUES('entity','juniper ward','e02604d260a7f6d7',X'59156a3ce226e4bddb9425be1fdc01be01d2943d75c1ffbdcacc84be720d79bd48ce003ebcdc5ebda04469bb725eea3cb203253e98ad283c51a85b3b4620af3d5e96913d509fac3d22b3f23bd1a26cbd359f993c29c939ba3280013e3ad0673c9081d63da5c76f3e6ecd38beef5a4bbd0fd9d8bd7f9b5abc069e523e6cb4433e0290203da79e41be5c2cadbd0fd62abea27427be8aff0e3edede393e89076f3cb8b5763d95aff9bb72e9bdbcc1c179befef476be98a661be7334e1bd48ad2a3ee086dabd6df7ccbd79375ebd48be63bd8058fe3d802eccbc75b725beb32e63beed3a10be6b455ebd99a3babd7bba863d832f5e3ea3c75fbd259488bdea17a33d',2973459663);
INSERT INTO vectors VALUES('entity','l 7713','c05e28126d1dae3e',X'a0beacbd4efc463da1d671be5b4cc03dc8b1b3bc2807bfbcb9a4103e9979bebd067e673ec724553cbf41113d8ad9043e15a6af3d7d10113de4aaf13d4885d7bd7b15343d77764dbc5a608abd8c9817bd78c6b63dcc68a73caa69edbd8b11b73e2d2047bddb55033e7b22e0bdfb35c43da3461fbeb469073d01adeb3d313b813d0640d3bdf7d736bda3c4763e04e9b0bcd932613d59683d3d6903c1bbc9f85fbdd86dc3bdf345c0bd7cbeb83dc5fa95bc4a8ce5bdff1b70bec4c1af3df31050bd595234bdbf6e3cbcac84593d4f317d3bde644f3d62d2153ef6865d3da60737bef4e7c43dfa1bcc3d056d02bee238a93d15cfe63d089d64be8f8fe3bedb737e3d',3571132271);
INSERT INTO vectors VALUES('entity','lot l 7713','cc65363a60ec6342',X'9ebad53857b3b63b7c886bbe7af96bbd0eb609be14c4abbc1b2c9b3d1f861ebeb05c263ec925693cb65ab8bcf15d483e5850453edaac213e31230a3dade71b3e008d39bc47520c3e913a82bcd18dafbd7a07903dabe0f93c72904cbdc7dfac3ed5041bbe6e70623e3bc632bea7f92a3d135793bda2cef4bcc064193d30cbffbc087be5bdca7f69bee658e93ddc246cbd2772d83d33d7d3bb35a395bddeb2a5bd7a26b43c88fa3cbee1fb423daeb8fbbd7538bc3a99caeebdc244e0bb28fd9e3b916d22bd93a49b3dac7106bb0882673dada145bded0bad3d7ef9273e6e3b1abeaa81b1bb1a283c3e8ac7c6bc8749643e1aea60bda1ce5dbe2baea6be1117693d',1591137879);
INSERT INTO vectors VALUES('entity','maria okafor','d1c53f00ce6589a4',X'f54c1cbee7d0e83de18b40be66f72f3e0c7e7b3bff1f0ebd6a53e93d0f50a8bdc573903d817256bd57fda2bbead6413d456a5d3d4e98213dd8028c3de8cae9bdf126ccbd445bc7bd03d53fbb0a97f63d9c27203ec98b1e3d350616be156f8f3ed924a03d387c13bd92c67c3b47ca273dbae026be7a095bbd5868713e64a6103d1fd5f23d28796ebc22fe463e09533abe898d063c48ad4c3d5cfe013e10ef713d548fe9bd06cf86bd9010343c177f253d051c50bd2a9ca0be11525c3dcb61e23c14a425be2e08f63c49b1cabc311092bd6b802e3e5804e93d8e3fa7bd28fd3ebe5780063ee93a543e7bd80dbeae57f93d0c0b173d57448bbd9dcbbbbe231cbe3d',4292243681);
INSERT INTO vectors VALUES('entity','nda','61e6c0aec3803da1',X'7d4ecd3dd303adba08a4bfbc32d8b73d73e50c3e1369f3bc00500a3e016df0bd2e73053d21d8e5bce65ace3dd13b2d3dc2eea83e9010fa3d1ba01b3e019384bd9064583dd2ffeb3d9b89403b45a84f3dde54da3c4efb56be450faebd621b813eb6cfa13db1726d3e3f905bbe982009bebf4616be1215eabc5205263e372a4c3e79485c3d62b8bbbc0f82143c655354bdbce9c63dd3882e3e73617e3e3438993d9c7dee3d33732f3d5d16e0bde42048be66eedebd97a2f4bd3066503dff1fc0bd1effd5bbc688853ca1e5e73d7f804b3d2fa6a83de81e223d71431cbd00cd02bea7060b3e18ebc23d4831a9bd34b7ef3d971a5abdaae485be54124fbe55a50dbd',3241057788);
INSERT INTO vectors VALUES('relation','battery pack	infusion pump','9216ec7e7b0f1569',X'48fa7dbd2e6263392be441be9f8a633d599f19bd5ac021be74a1933cd2799e3d2a5b5e3ec05fffbbc3d0913df820963d2cc786bd178e28bd9ab3343e9109aebcf21f623e9d69fdbd0730aabd746021bee98de93d54829a3de232ce3d1cbd8c3e5d0593bd7161623eb5e85cbecd38dc3d972197bcf765ccbd7a64b23dca228d3d5a7670beb678fc3ce7ad553eed07183e4cd279bc61d8833d789d26bdb3dfdcbd192352bd0ddbbf3cbc7e90bd7ebd98bd6e9039be051bb7bd9e3b303ed2b4c6bd888cc33d3191d7bdec0a3d3d4d1591bd8b6fb9bd3aaf6a3d86c2d4bd7efda5bd71b7293e9f1be93d325b41bd6339d6bda9d66f3e358061beb35b4fbe2a1faebd',3849864949);
INSERT INTO vectors VALUES('relation','battery pack	l 7713','6e13af8c2e27d759',X'b712a4bd7a5b05bd252338be4ad1993dcfa3a6bd6879a9bd9016933dc719773cb1b0803e91ef0a3d091e863d66714f3ea3a7e43b6b667fba3396d73d34c715bcd64eed3d55c4d6bb9e8658bdd3923abe88454f3ded47da3ddcc2ed3cde3a933e6fc50bbef7b4673eab9e1bbeccc42f3e864d8ebde7863ebd233f883d814038bc09208dbed1340fbeefb93f3e7985e43df068fd3c4fd9d7bbb82501be3d6de0bdaa0d2bbd1fefafbd9e5e473d23b05ebdb40b00be4cf7e5bdcae57c3dd7c4f6bdabb7a13d5cd12abdea75a13d68c2793c396ffebdae16e43dfdc1293c6a11ecbd258ffb3dadc29a3d265c38bdde42cebcc9a6593e38aa91befc3e9dbe357a1bbd',3404570308);
INSERT INTO vectors VALUES('relation','battery pack	lot l 7713','e4b4eabcdb16f371',X'b90c11bdabf3c2bc744070be17b910bd883434be281b2abd147d9e3d6e40d6bdef1dda3dacf2893dedf621bba4666b3eb4424b3efa3cf73d2212353dfba1193e824ec53cea4aa63dca1d09bba4d6d2bda2e58d3d4893773dedb6c2bc2f57953ef72f4abe46db823e4ad615beb0a57d3deb67aebdbfcbe0bdbb0ea83d6d1d42bd559006be0f9063be8e858f3d533194bd302caa3daea475bb323793bdc004c3bd471948bbb3f419be9be0043d75e001be78831e3cf55b1fbe1f8a133cf048a0bbeef0febb1ae8bf3a3e381d3d4845a83ce3b89ebdbc42f83d2ee6193e3dd1eebd642cfc3cbaf55e3e4f3c00bdbc2c4e3e5544aabcc4715abe4540aebe809b573d',564356356);
INSERT INTO vectors VALUES('relation','harbour plant	lot l 7713','8e34e36c868c0166',X'8c47723d521170bda5cd83be4b9c11bd4bfa0fbe3c6939bce354903d58fe03bee233223e6320403dc18d06bd8290aa3dccd03d3ec4062c3e6514d63c3525433e505728bd246b093e4e03753d77d6d2bd2231813d5c08a23d74dc173d1e1eb33eb6ab06be4716763ed7dd28bec4a8ba3d24dea1bbc4db2cbd643935bc563363bd2df585bdd4b674be7abfd43d1891e73b333c0b3e641e1abdeb949abd1e7e15be9f55c03c0ba07bbed383c7bc222195bd0b8a1dbda6bc31bdddaa85bd17320bbb642578bdcce2733d6f3c15bd64ced73a889838bd1649c13cb8ed133e0f5c19be7f5c383c154a443ea4f12d3b9890413e63ad95bdc01d47be862192bee489123e',832660558);
INSERT INTO vectors VALUES('relation','infusion pump	nda','62a8ee0de166cb89',X'fad51b3dd3ac42bd2e5822bea2a1463dc582ad3d4c20d7bc60d5b73dce7d86bc616b6b3c8c7916bed23253bd526c19be7431d53d2143e6bdb8a8d6bb17d33fbd97c75d3e8cccfebc1b0fa7bdcf8163bd9124973d759b07bec2a5a2bb3e132b3e2dbe0e3e1e1c4c3eda4934bec75e06befbfa99bd7334a8bd6197583e38c7453ec60f803dd83e773d782c1ebd954fadbc6086db3dd8dd843e140f593efb4bb43d729a2b3eb486003e882861bebe1a97be11df1bbe0ded3ebd4a95683e6fc7263c7bce3d3d4c565d3ce1d5e33d6fc7a6bd6202203e87b8a43d38cc92bd263382bcbe780d3ec0c8f03d8cb801be599d723bc4da74bc8ef5f1bda804cfbdbe2a50be',763787174);
CREATE TABLE subgraphs (
    subgraph_id TEXT PRIMARY KEY,
    entities    TEXT NOT NULL           -- JSON list of keys
, crc INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO subgraphs VALUES('302093958635d1da','["battery pack", "harbour plant", "infusion pump", "juniper ward", "l 7713", "lot l 7713", "maria okafor", "nda"]',2268805561);
CREATE TABLE summaries (                -- removed = 1: a tombstone that the cloud must learn
    summary_id  TEXT PRIMARY KEY,
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL,
    input_hash  TEXT NOT NULL,          -- of what was summarised: equal hash, no new summary
    entities    INTEGER NOT NULL,
    relations   INTEGER NOT NULL,
    version     INTEGER NOT NULL,       -- of the last change; a delta is all rows above the cloud's version
    removed     INTEGER NOT NULL DEFAULT 0
, facts TEXT NOT NULL DEFAULT '[]', stale INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO summaries VALUES('302093958635d1da','This part is about battery pack, infusion pump, Lot L-7713 and L-7713. It also covers NDA, Harbour Plant, Juniper Ward, Maria Okafor. Relations: infusion pump – use – battery pack; Lot L-7713 – of – battery pack; battery pack – from – L-7713; NDA – oversee – infusion pump; Lot L-7713 – come from – Harbour Plant.',166276816,'095c528d12b5405e',8,5,5,0,'[]',0);
INSERT INTO summaries VALUES('f54e81e0f2a06569','',0,'ef50943464d112b2',1,0,4,1,'[]',0);
CREATE TABLE llm_results (
    input_hash  TEXT NOT NULL,          -- of the whole request
    model       TEXT NOT NULL,
    reply       TEXT NOT NULL,          -- JSON
    created_at  REAL NOT NULL, crc INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (input_hash, model)
) WITHOUT ROWID;
CREATE TABLE receipts (                 -- what was deleted, without its name or content
    receipt_id  TEXT PRIMARY KEY,
    document_id TEXT NOT NULL,
    deleted_at  REAL NOT NULL,
    chunks      INTEGER NOT NULL,
    version     INTEGER NOT NULL,       -- once the cloud has acknowledged this version of the summaries, it has forgotten too
    erased      INTEGER NOT NULL DEFAULT 0  -- 1: no byte of it is left in the store's files
) WITHOUT ROWID;
INSERT INTO receipts VALUES('e5f6bfb1ef2cea18','ed05695137fba2ac4c2a51a1',1795256217.4488465785,1,5,1);
CREATE TABLE definitions (              -- "Gross Domestic Product (GDP)": what a chunk says about an acronym
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    long        TEXT NOT NULL,          -- keys, as in entity_mentions
    short       TEXT NOT NULL,
    crc         INTEGER NOT NULL        -- of chunk_id, long, short
);
INSERT INTO definitions VALUES('7fff4027cd39e651ca5b00f8:0','national device agency','nda',3250338813);
CREATE TABLE changes (                  -- what the next settle must look at; written by triggers, so that no path forgets
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL,          -- an entity key, or the lesser end of a relation
    target      TEXT NOT NULL,          -- '': an entity
    removed     INTEGER NOT NULL        -- 1: a mention is gone; no text that told of it may stay
);
CREATE TABLE descriptions (             -- long descriptions that the model has shortened
    key         TEXT PRIMARY KEY,
    input_hash  TEXT NOT NULL,          -- of the descriptions that were shortened
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL        -- of key, input_hash, text
) WITHOUT ROWID;
CREATE TABLE llm_sources (              -- a reply goes with the last document that it was made for
    input_hash  TEXT NOT NULL,
    model       TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    PRIMARY KEY (document_id, input_hash, model)
) WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('changes',22);
CREATE INDEX documents_status ON documents (status, created_at);
CREATE INDEX jobs_document ON jobs (document_id);
CREATE INDEX entity_mentions_chunk ON entity_mentions (chunk_id);
CREATE INDEX relation_mentions_chunk ON relation_mentions (chunk_id);
CREATE INDEX summaries_version ON summaries (version);
CREATE INDEX documents_name ON documents (name);
CREATE INDEX jobs_open ON jobs (ended_at) WHERE ended_at IS NULL;
CREATE INDEX chunks_document ON chunks (document_id, ordinal, tokens);
CREATE INDEX entity_mentions_key ON entity_mentions (key);
CREATE INDEX relation_mentions_ends ON relation_mentions (source, target);
CREATE INDEX relation_mentions_target ON relation_mentions (target);
CREATE INDEX definitions_chunk ON definitions (chunk_id);
CREATE INDEX definitions_long ON definitions (long);
CREATE INDEX definitions_short ON definitions (short);
CREATE INDEX llm_sources_result ON llm_sources (input_hash, model);
CREATE TRIGGER entity_mention_added AFTER INSERT ON entity_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (NEW.key, '', 0);
END;
CREATE TRIGGER entity_mention_removed AFTER DELETE ON entity_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (OLD.key, '', 1);
END;
CREATE TRIGGER relation_mention_added AFTER INSERT ON relation_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (min(NEW.source, NEW.target), max(NEW.source, NEW.target), 0);
END;
CREATE TRIGGER relation_mention_removed AFTER DELETE ON relation_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (min(OLD.source, OLD.target), max(OLD.source, OLD.target), 1);
END;
CREATE TRIGGER definition_added AFTER INSERT ON definitions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (NEW.long, '', 0), (NEW.short, '', 0);
END;
CREATE TRIGGER definition_removed AFTER DELETE ON definitions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (OLD.long, '', 1), (OLD.short, '', 1);
END;
COMMIT;
PRAGMA user_version=2;
