from benchmarks.clouds.same_stores import compared, splits


def test_each_set_is_asked_of_all_sites_and_the_books_are_only_matched():
    *sets, books = splits()
    assert [one.name for one in sets] == ["hotpotqa", "musique", "2wikimultihopqa"]
    assert {one.retrieval for one in sets} == {("federated", "federated-operator")}
    assert books.routing
    assert not books.systems
    assert len(books.m) == 5


def test_another_order_and_an_asking_that_only_one_store_has_are_differences():
    same, turned = (("d1", "d2"), ("ward",)), (("d2", "d1"), ("ward",))
    assert compared({"a": same, "b": same}, {"a": same, "b": turned, "c": same}) == {"n": 3, "equal": 1, "different": ["b", "c"]}
