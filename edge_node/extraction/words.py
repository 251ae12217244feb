"""Closed word lists: what can be no entity, or no entity alone. Found by looking at what comes out of real text."""

from __future__ import annotations

from itertools import product

_PREFIXES = (
    ("hyper", "hypo"), ("pre", "post"), ("inter", "intra"), ("endo", "exo"), ("macro", "micro"), ("over", "under"), ("in", "ex"),
    ("im", "ex"), ("super", "sub"), ("super", "infra"), ("af", "ef"), ("ad", "ab"), ("anti", "pro"), ("mono", "poly"), ("mono", "di"),
    ("uni", "bi"), ("homo", "hetero"), ("iso", "aniso"), ("up", "down"), ("in", "out"), ("ana", "cata"), ("ante", "retro"),
    ("eu", "pro"), ("depolar", "repolar"), ("de", "re"), ("mis", ""), ("un", ""), ("non", ""), ("in", ""), ("im", ""), ("dis", ""),
    ("anti", ""), ("de", ""), ("an", ""), ("a", ""), ("para", ""), ("counter", ""), ("pre", ""), ("post", ""), ("sub", ""),
    ("ex", ""), ("re", ""), ("pro", ""), ("co", ""), ("il", ""), ("ir", ""), ("semi", ""), ("bi", ""), ("tri", ""), ("micro", ""),
    ("macro", ""), ("hyper", ""), ("hypo", ""),
)  # fmt: skip
_PAIRS = """
    anterior/posterior superior/inferior left/right upper/lower male/female north/south east/west northern/southern
    eastern/western maximum/minimum positive/negative internal/external inner/outer ascending/descending supply/demand short/long
    input/output proximal/distal dorsal/ventral medial/lateral visceral/parietal major/minor high/low higher/lower big/small
    large/small old/new first/second first/third second/third primary/secondary systolic/diastolic afferent/efferent horizontal/vertical
    hot/cold open/closed black/white red/white red/blue red/green green/blue man/woman boy/girl mother/father son/daughter brother/sister
    winter/summer day/night increase/decrease import/export import/exporter buyer/seller lender/borrower employer/employee
    thick/thin active/passive direct/indirect formal/informal public/private early/late front/back front/rear top/bottom
"""
_WORDS = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())


def opposed(a: str, b: str) -> bool:
    """True when a word of ``a`` and a word of ``b``, both absent from the other, are contraries.

    >>> opposed("hypertension", "hypotension"), opposed("anterior horn", "posterior horn"), opposed("nerve cell", "nerve cells")
    (True, True, False)
    """
    left, right = set(a.split()), set(b.split())
    return any(_contrary(x, y) or _contrary(y, x) for x, y in product(left - right, right - left))


def _contrary(x: str, y: str) -> bool:
    if frozenset((x, y)) in _WORDS:
        return True
    return any(x.startswith(p) and y.startswith(q) and x[len(p) :] == y[len(q) :] and len(x) > len(p) + 2 for p, q in _PREFIXES)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split(";"))


DETERMINERS = _words(
    """
    a all an another any both certain each either enough every few fewer her his its less many more most much my neither no other our
    several some such that the their these this those various what which whose your
    """
)

PRONOUNS = _words(
    """
    anybody anyone anything everybody everyone everything he here hers herself him himself i it itself me mine myself nobody none nothing
    one ones oneself ours ourselves she somebody someone something theirs them themselves there they us we whatever whichever who whoever
    whom you yours yourself yourselves
    """
)

STOP_WORDS = (
    _words(
        """
    about above after again against al also although am among and are around as at be because been before being below between but by can
    cf could did do does doing down during e.g eg et etc for from further had has have having how however i.e ibid ie if in into is just
    may might must nor not now of off on once only onto or out over own per please rather same shall should since so than then though
    through thus to too toward under until up upon versus very via vs was were when where whether while why will with within without would
    yes yet
    """
    )
    | DETERMINERS
    | PRONOUNS
)

# cut from the left of a noun phrase: they say how much or which, never what
QUANTIFIERS = (
    _words(
        """
    additional adequate alternative apparent appropriate available average countless crucial current different distinct diverse eight
    enormous entire essential exact existing extensive famous final first five following former four frequent full further future given
    good great greater greatest growing huge hundred immediate important increasing individual initial interesting key known large larger
    largest last late later latest latter least likely little long-term longer main major massive mere million minor modern multiple
    necessary next nine notable noted numerous obvious occasional old older one only original overall own particular past possible
    potential powerful present previous prominent proper rare recent related relative relevant remaining respective right same second
    serious seven significant similar simple single six slight so-called specific strong substantial successful such sufficient ten third
    thousand three tiny total twelve two typical unique unusual usual various vast very well-known whole widespread
    """
    )
    | DETERMINERS
)

# vague, yet parts of terms ("large intestine", "long run"): a phrase is dropped only when all its words are vague or general
VAGUE_ADJECTIVES = _words(
    """
    able above actual additional adequate alternative apparent appropriate available average aware back bad basic best better big bigger
    biggest brief broad careful central characteristic classic clear close closer common comparable complete complex considerable
    contemporary correct corresponding countless critical crucial current daily dangerous dear deep deeper detailed different difficult
    distinct diverse dominant double earlier early easy effective enormous entire equal essential exact excellent existing extensive extra
    extreme fair familiar famous fascinating favorite final fine first following former free frequent full fundamental further future
    general given good great greater greatest growing half hard healthy helpful hidden high higher highest huge ideal identical immediate
    important impossible incoming increased increasing individual initial innumerable intense interesting key known large larger largest
    last late later latest latter least left likely limited little local long longer low lower lowest main major massive mere minor modern
    modest multiple narrow natural nearby necessary new newer next nice normal notable noted numerous obvious occasional old older one
    only open opposite ordinary original overall own particular past perfect personal plausible poor popular positive possible potent
    potential powerful practical precise present previous primary prior probable prominent proper quick rapid rare ready real recent
    related relative relevant remaining respective right rough same second secondary separate serious severe sheer short shorter
    significant similar simple single slight small smaller smallest solid special specialized specific standard steady strange strict
    striking strong stronger subsequent substantial successful sudden sufficient suitable sure tall third three tiny top total tough
    tremendous true two typical ultimate unclear unique unknown unlikely unusual usual varied vast very vital weak weaker well whole wide
    widespread wonderful worse worst wrong young younger
    """
)

# nouns that name nothing by themselves; a phrase made only of these and of vague adjectives is no entity
GENERAL_NOUNS = _words(
    """
    ability absence access account act action activist activity ad addition adult advance advantage advice advocate affair age agency
    agent agreement aim album ally amendment amount analysis analyst answer anyone appearance application approach area argument
    arrangement article artist aspect assumption attempt attention attitude audience aunt author authority award background balance band
    base basis basket bed beginning behalf behavior being belief benefit bias bill billion birthday bit block body book boss bottom
    boundary box boy boyfriend branch breakfast brother buddy building bunch bus call candidate capacity care career case cat category
    cause cent center centimeter central century certainty chair challenge chance change channel chapter character characteristic charge
    check child choice circumstance citizen claim class client clue code colleague collection color combination comment company comparison
    component concept concern conclusion condition conflict connection consequence consideration consumer content context contrast
    contribution control conversation copy core corner correlation country couple course cousin criterion critic customer cycle data
    daughter day deal debate decade decision decline decrease definition degree demand description design desire detail development device
    diameter difference difficulty dimension dinner direction disadvantage discussion distance distinction diversity division doctor dog
    doing dollar door dozen drawback dress duration duty ease economist edge effect effort element emphasis employee employer end entity
    entry environment equipment error essay estimate euro evaluation event everyday evidence example exception exchange exercise existence
    expectation experience expert explanation exposure expression extent eye face fact factor failure family farmer fashion father favor
    feature feeling field figure finding firm floor flow focus folk foot force form formation foundation fraction frequency friend front
    function furniture future gap generation gift girl girlfriend goal going good gram group growth guest guide guideline guy half hand
    head heading help history home host hour house human hundred husband idea identity image impact implication importance impression
    improvement inch incident increase index indication individual influence information initiative input instance instruction instructor
    intention interaction interest interpretation intersection introduction issue item job journey judgment key kid kilogram kilometer
    kind knowledge label laboratory lack language lawyer layer leader length lesson level life lifetime light limit limitation line link
    list liter litre location look loss lot lunch majority maker making man manager manner map mark material matter meaning means measure
    measurement mechanism medium meeting member mention message meter method metre middle mile millimeter million mind minority minute
    mistake mix mode model moment month morning mother motion movement mph name nation nature need neighbor night node norm note notice
    notion number nurse object objective observation occasion occurrence office officer official one operation opinion opportunity option
    order organization origin other ounce outcome output overview owner page pair paper paragraph parent part participant particular
    partner party passage past path patient pattern peer people percent percentage percentile performance period person perspective phase
    phenomenon photo photograph phrase physician picture piece place plan player plenty point police policy population portion position
    possibility potential pound power practice preference presence present pressure principle prior problem procedure process product
    production professional professor program progress project property proportion proposal protection protocol provision psychologist
    public purpose quality quantity question quote range rank rate ratio reaction reader reading reality reason recommendation record
    reduction reference regard region relation relationship release removal report representation request requirement research researcher
    resource respondent response responsibility rest result return review right rise risk role room root row rule sample scale scenario
    scene scholar school scientist scope score search second section segment self sense sentence sequence series service session set
    setting shape share shift side sign signal similarity sister site situation size skill society sofa solution somebody son sort source
    space speed spot staff stage standard start state statement statistic status step story strategy strength string structure struggle
    student study style subject subset substance success sum summary support surface survey survival symbol system table tablespoon target
    task teacher team technique technology tendency term test text theme theory thing thinking thought thousand threat time title today
    tomorrow tone tool top topic total town track transition treatment trend trial trillion trip trouble truth try turn twist type uncle
    unit usage use user value variable variation variety version video view viewer viewpoint voter wall way website week weekend whole
    width wife window woman word work worker world writer writing year yesterday yield youth zone
    """
)

# "a type of neuron" is about the neuron: an argument with one of these heads hands on to its "of" phrase
TRANSPARENT_NOUNS = _words(
    """
    amount array bit bulk bunch class collection combination couple degree dozen example form fraction group half host kind level lot
    majority mixture mode number pair part percent percentage piece portion proportion quantity range rate rest sample section segment
    sequence series set share sort source stage subset thousand total type unit variety version volume
    """
)

# whole names that are parts of a page, not of the world
FURNITURE = _phrases(
    """
    abstract; acknowledgement; additional resource; answer key; appendix; art connection; bibliography; bring it home; caption;
    career connection; chapter objective; chapter outline; chapter review; chapter summary; clear it up; click; connect the concept;
    contents; credit; critical thinking; critical thinking question; dig deeper; everyday connection; finding a middle ground;
    further reading; get connected; glossary; how it work; insider perspective; interactive link; interactive link question; introduction;
    key concept; key concept and summary; key equation; key takeaway; key term; learning objective; link to learning; milestone;
    personal application question; reference; review question; self check question; summary; table of content; visit this website;
    watch this video; what do you think; work it out
    """
)
