from benchmarks.peers.goals import goal_rows


def index(system, size, cpu, prompt=None):
    return {"system": system, "step": "index", "size": size, "tokens": size, "own_cpu_s": cpu, "prompt_tokens": prompt or {}}


def use(system, size, add, calls):
    common = {"system": system, "step": "use", "size": size, "tokens": size, "new_tokens": 3000}
    return common | {"add_own_cpu_s": add, "add_calls": calls, "ask_p50_ms": 2.0, "ask_p95_ms": 7.0}


def found(rows, goal):
    return [(row["measured"], row["met"]) for row in goal_rows(rows) if row["goal"] == goal]


def test_indexing_is_judged_for_a_hundred_thousand_tokens_and_against_lightrag():
    rows = [index("dgrag", 200_000, 0.8), index("lightrag", 200_000, 16.0)]
    assert found(rows, "F1") == [(0.4, True), (0.05, True)]


def test_growth_is_of_a_doubling():
    assert found([index("dgrag", 400_000, 2.5), index("dgrag", 200_000, 1.0)], "F2") == [(2.5, False)]
    assert found([index("dgrag", 100_000, 1.0), index("dgrag", 400_000, 4.0)], "F2") == [(2.0, True)]


def test_gleaning_is_extraction_and_summaries_come_on_top():
    rows = [index("dgrag", 1000, 1.0, {"extract": 1500, "glean": 400, "report": 700})]
    assert found(rows, "F5") == [(1.9, True), (2.6, False)]


def test_one_more_document_has_its_calls_time_and_retrieval_judged():
    rows = [use("dgrag", 1000, 0.025, {"extract": 3, "report": 9}), use("lightrag", 1000, 0.2, {})]
    assert found(rows, "F3") == [(25.0, True), (0.125, False)]
    assert found(rows, "F4") == [(9, False)]
    assert found(rows, "F6") == [(2.0, True), (7.0, False)]


def test_without_a_peer_there_is_no_ratio_to_it():
    assert len(found([index("dgrag", 1000, 0.001)], "F1")) == 1
