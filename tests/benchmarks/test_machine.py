from benchmarks.machine import code, machine, prompts, write_path


def test_the_commit_of_a_repository_is_told(root):
    told = code(root)
    assert set(told) == {"commit", "dirty", "version"}
    assert told["commit"] == "unknown" or len(told["commit"]) == 40


def test_outside_of_a_repository_the_commit_is_unknown(tmp_path):
    told = code(tmp_path)
    assert told["commit"] == "unknown"
    assert told["dirty"] is None


def test_the_machine_has_a_processor_cores_and_memory():
    told = machine()
    assert told["cpu"]
    assert told["cores"] >= 1
    assert told["memory_gb"] > 0


def test_a_prompts_hash_follows_its_text(tmp_path):
    file = tmp_path / "edge_node" / "prompts" / "answer.md"
    file.parent.mkdir(parents=True)
    file.write_text("one")
    first = prompts(tmp_path)
    file.write_text("two")
    assert list(first) == ["edge_node/prompts/answer.md"]
    assert prompts(tmp_path) != first


def test_every_prompt_of_the_project_is_listed():
    assert {"edge_node/prompts/answer.md", "cloud_server/prompts/answer.md", "benchmarks/prompts/judge.md"} <= prompts().keys()


def test_an_index_belongs_to_the_code_that_wrote_it(tmp_path):
    before = write_path(tmp_path)
    file = tmp_path / "edge_node" / "store" / "graph.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = 1")
    assert write_path(tmp_path) != before
    assert write_path(tmp_path) == write_path(tmp_path)
    (tmp_path / "edge_node" / "answer.py").write_text("y = 1")
    changed = write_path(tmp_path)
    file.write_text("x = 2")
    assert write_path(tmp_path) != changed
