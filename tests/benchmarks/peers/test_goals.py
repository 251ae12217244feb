from benchmarks.peers.goals import goal_rows


def index(system, size, cpu, prompt=None, later=0.0):
    cost = {"own_cpu_s": cpu, "later_own_cpu_s": later, "prompt_tokens": prompt or {}, "entities": 900}
    return {"system": system, "step": "index", "size": size, "tokens": size} | cost


def use(system, size, add, calls=(), p50=2.0, p95=7.0, entities=10_000):
    common = {"system": system, "step": "use", "size": size, "tokens": size, "new_tokens": 3000, "entities": entities}
    cost = {"add_own_cpu_s": add, "add_later_own_cpu_s": 0.005, "add_calls": dict(calls)}
    return common | cost | {"ask_own_cpu_p50_ms": p50, "ask_own_cpu_p95_ms": p95}


def found(rows, goal):
    return [(row["measured"], row["met"]) for row in goal_rows(rows) if row["goal"] == goal]


def test_indexing_is_judged_for_a_hundred_thousand_tokens_and_against_lightrag():
    rows = [index("dgrag", 200_000, 0.8), index("lightrag", 200_000, 16.0)]
    assert found(rows, "indexing") == [(0.4, True), (0.05, True)]


def test_growth_is_of_a_doubling():
    assert found([index("dgrag", 400_000, 2.5), index("dgrag", 200_000, 1.0)], "growth") == [(2.5, False)]
    assert found([index("dgrag", 100_000, 1.0), index("dgrag", 400_000, 4.0)], "growth") == [(2.0, True)]


def test_gleaning_is_extraction_and_summaries_come_on_top():
    rows = [index("dgrag", 1000, 1.0, {"extract": 1500, "glean": 400, "report": 700})]
    assert found(rows, "tokens") == [(1.9, True), (2.6, False)]


def test_one_more_document_has_its_calls_and_its_time_judged_with_what_follows_by_itself():
    rows = [use("dgrag", 1000, 0.02, {"extract": 3, "report": 9}), use("lightrag", 1000, 0.195)]
    assert found(rows, "one more document") == [(25.0, True), (0.125, False)]
    assert found(rows, "calls") == [(9, False)]


def test_summaries_that_come_afterwards_count_as_indexing():
    rows = [index("dgrag", 100_000, 0.4, later=0.2), index("lightrag", 100_000, 11.0, later=1.0)]
    assert found(rows, "indexing") == [(0.6, False), (0.05, True)]


def test_one_more_document_is_compared_between_the_smallest_and_the_largest_index():
    rows = [use("dgrag", size, add) for size, add in ((200_000, 0.035), (100_000, 0.015), (400_000, 0.045))]
    assert found(rows, "growth") == [(2.5, False)]


def test_retrieval_is_judged_in_milliseconds_and_against_lightrag():
    rows = [use("dgrag", 1000, 0.1), use("lightrag", 1000, 0.1, p50=80.0, p95=100.0)]
    assert found(rows, "retrieval") == [(2.0, True), (7.0, False), (0.025, True), (0.07, False)]


def test_an_index_smaller_than_the_goals_can_miss_it_and_not_meet_it():
    """30 ms are for 10,000 entities: 25 ms at 9,999 say nothing, 35 ms are too many; growth has no such scale."""
    rows = [use("dgrag", 1000, 0.02, entities=9999), use("dgrag", 2000, 0.021, entities=10_000), use("dgrag", 3000, 0.03, entities=50)]
    assert [(row["measured"], row["met"], row["below_scale"]) for row in goal_rows(rows) if row["goal"] == "one more document"] == [
        (25.0, False, True),
        (26.0, True, False),
        (35.0, False, True),
    ]
    assert not any(row["below_scale"] for row in goal_rows(rows) if row["goal"] == "growth")


def test_our_edge_with_its_own_spacy_is_judged_by_what_it_costs_itself():
    """0.9 s for 100,000 tokens are more than the 0.5 that is wanted, and an eleventh of LightRAG's 10 more than a fifteenth."""
    sizes = [index("dgrag-spacy", 100_000, 0.9), index("dgrag-spacy", 200_000, 2.16), use("dgrag-spacy", 100_000, 0.02)]
    rows = goal_rows([*sizes, index("lightrag", 100_000, 10.0)])
    assert {row["system"] for row in rows} == {"dgrag-spacy"}
    assert all(row["what"].endswith(", entities found by itself") for row in rows)
    assert [(row["goal"], row["measured"], row["met"]) for row in rows] == [
        ("indexing", 0.9, False),
        ("indexing", 1.08, False),
        ("indexing", 0.09, False),
        ("growth", 2.4, True),
        ("one more document", 25.0, True),
    ]


def test_without_a_peer_there_is_no_ratio_to_it():
    assert len(found([index("dgrag", 1000, 0.001)], "indexing")) == 1
