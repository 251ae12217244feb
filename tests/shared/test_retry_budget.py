import threading

from hypothesis import given
from hypothesis import strategies as st

from shared.limits import RetryBudget


def test_a_fresh_budget_allows_its_reserve():
    budget = RetryBudget(share=0.2, reserve=3)
    assert [budget.take() for _ in range(5)] == [True, True, True, False, False]


def test_five_first_calls_earn_one_repeat():
    budget = RetryBudget(share=0.2, reserve=0)
    for _ in range(4):
        budget.attempt()
    assert not budget.take()
    budget.attempt()
    assert [budget.take(), budget.take()] == [True, False]


def test_a_repeat_earns_nothing():
    """Ten calls earn two repeats; the repeats themselves are attempts, but no first calls."""
    budget = RetryBudget(share=0.2, reserve=0)
    for _ in range(10):
        budget.attempt()
    allowed = 0
    while budget.take():
        budget.attempt()
        allowed += 1
    assert allowed == 2


@given(st.lists(st.booleans(), max_size=200))
def test_whatever_the_order_repeats_stay_within_the_budget(calls):
    """True: a call fails, and is repeated as long as the budget allows; False: a call succeeds."""
    budget, repeats = RetryBudget(share=0.2, reserve=10), 0
    for first, fails in enumerate(calls, start=1):
        budget.attempt()
        while fails and budget.take():
            budget.attempt()
            repeats += 1
        assert repeats <= 10 + 0.2 * first


def test_threads_together_take_no_more_than_there_is():
    budget, taken = RetryBudget(share=0.0, reserve=50), []
    threads = [threading.Thread(target=lambda: taken.extend(budget.take() for _ in range(20))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 50
