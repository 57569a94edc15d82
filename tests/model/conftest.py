"""The tests of the models that are slow."""

from typing import Final

import pytest

DEAR: Final = {
    "test_composition.py": (
        "test_a_stable_that_heeds_the_stability_of_other_views_lets_nakack_purge_too_much",
        "test_it_is_not_proved_without_a_part_of_what_couples_them"
        "[without what is given of stable.Deliver-SameDelivered | stable.Deliver]",
        "test_what_stable_proves_of_stability_is_needed[StableIsOfAll]",
    ),
    "test_frag_inductive.py": (
        "test_what_only_progress_needs_is_not_needed_for_safety",
        "test_without_a_conjunct_the_others_are_not_inductive[NotBegunAgain]",
        "test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown[VirtualSynchrony]",
    ),
    "test_inductive.py": (
        "test_a_property_is_not_implied_without_the_conjunct_that_it_rests_on",
        "test_without_a_conjunct_the_others_are_not_inductive[OthersAreRead-InstallView]",
        "test_without_a_conjunct_the_others_are_not_inductive[UnansweredMissNothing-ViewChange]",
        "test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown"
        "[ExactNext-ReceiveData: delivered]",
        "test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown"
        "[JoinPolicy-InstallView]",
    ),
    "test_locks_inductive.py": (
        "test_without_what_tables_rest_on_a_step_fails[AllAsk]",
        "test_without_what_tables_rest_on_a_step_fails[BeginsOwn]",
    ),
    "test_merge2_inductive.py": (
        "test_without_a_conjunct_the_others_are_not_enough[DecidedOnce]",
        "test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown[Frozen]",
        "test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown[IdOfLeader]",
        "test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown[Promotes]",
    ),
    "test_nakack_inductive.py": (
        "test_who_hears_everybody_need_not_keep_what_it_has_not_delivered",
        "test_without_a_conjunct_the_others_are_not_inductive[CutsRise]",
        "test_without_a_conjunct_the_others_are_not_inductive[FrozenIsWhole]",
        "test_without_a_conjunct_the_others_are_not_inductive[NoSecondStream]",
    ),
    "test_primary_inductive.py": (
        "test_what_a_new_view_has_to_keep_is_proved_with_any_seed[NoGap]",
    ),
}
"""Planted faults of theories on which Z3 needs more than a second. Each theory keeps cheaper ones
among the fast tests; decision 102 says what CI repeats of the proofs themselves.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the dear ones as slow, before those that are slow are left out."""
    for item in items:
        if item.name in DEAR.get(item.path.name, ()):
            item.add_marker("slow")
