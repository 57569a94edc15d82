"""For the tests of a protocol of one's own; `pip install 'raincheck[audit]'` brings what it needs.

from raincheck.testing import assert_conforms, assert_replays, lockstep_machine

TestLockstep = lockstep_machine("two_phase_commit").TestCase

def test_every_edge_is_replayed():
    assert_replays("two_phase_commit")

def test_what_the_cores_do_conforms(recording):
    recording.of("two_phase_commit", a=a, b=b)
    ...
"""

from raincheck.conformance.testing.asserts import assert_conforms as assert_conforms
from raincheck.conformance.testing.asserts import assert_replays as assert_replays
from raincheck.conformance.testing.machine import lockstep_machine as lockstep_machine
from raincheck.conformance.testing.recordings import Recording as Recording
