"""TLA+ values: normal forms, text, JSON."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.model.machine.tlavalue import (
    Fcn,
    ModelValue,
    Reader,
    Value,
    format,
    from_itf,
    function,
    identical,
    in_order,
    override,
    parse,
    record,
    to_itf,
    trace_to_itf,
)

NAMES = st.sampled_from(["a", "b", "Nil", "x_1", "node", "View2"])


def nested(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.frozensets(inner, max_size=4),
        st.dictionaries(inner, inner, max_size=4).map(function),
        st.dictionaries(NAMES, inner, max_size=4).map(function),
    )


VALUES: st.SearchStrategy[Value] = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(),
        st.integers(1, 3),
        st.text(max_size=5),
        NAMES,
        NAMES.map(ModelValue),
    ),
    nested,
    max_leaves=12,
)


@given(VALUES)
def test_every_value_survives_the_round_trip_through_text(value):
    assert identical(parse(format(value)), value)


@given(VALUES)
def test_every_value_survives_the_round_trip_through_itf(value):
    assert identical(from_itf(to_itf(value)), value)


@given(VALUES)
def test_every_value_survives_pickling(value):
    assert identical(pickle.loads(pickle.dumps(value)), value)


@given(VALUES, VALUES)
def test_identical_values_are_those_with_the_same_text(left, right):
    assert identical(left, right) == (format(left) == format(right))


@given(VALUES)
def test_white_space_between_tokens_does_not_matter(value):
    text = format(value)
    if '"' not in text:
        assert identical(parse(text.replace(" ", "\n   ").replace("<<", "<<\n")), value)


@given(st.text(max_size=20))
def test_any_text_parses_or_is_refused_with_a_sentence(text):
    try:
        value = parse(text)
    except ValueError as error:
        sentence = str(error)
    else:
        sentence = "at character"
        assert identical(parse(format(value)), value)
    assert "at character" in sentence


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-12", -12),
        ("TRUE", True),
        ("{}", frozenset()),
        ("<<>>", ()),
        ("<< >>", ()),
        ("Nil", ModelValue("Nil")),
        ('"a \\"quoted\\" \\\\ one"', 'a "quoted" \\ one'),
        ("{1, {2}}", frozenset({1, frozenset({2})})),
        ("-1..2", frozenset({-1, 0, 1, 2})),
        ("2..1", frozenset()),
        ("[a |-> 1, b |-> <<2>>]", record(a=1, b=(2,))),
        ("[a b |-> 1, 2c |-> 3]", function({"a b": 1, "2c": 3})),
        ("(2 :> 1 @@ 5 :> 2)", function({5: 2, 2: 1})),
        ("(2 :> TRUE @@ 1 :> 7)", (7, True)),
        ("(1 :> 1 @@ 1 :> 2)", (1,)),
        ('( "a" :>\n      1 @@\n  Nil :> 2 )', function({"a": 1, ModelValue("Nil"): 2})),
    ],
)
def test_what_tlc_prints_is_read(text, value):
    assert identical(parse(text), value)


@pytest.mark.parametrize(
    "text",
    ["", "1 2", "<<1", "{1,}", "[a |-> ]", "[a : 1]", "(1 :> 2", '"open', "1..", "1..TRUE", "@@"],
)
def test_what_is_no_value_is_refused(text):
    with pytest.raises(ValueError, match="not a TLA"):
        parse(text)


def test_functions_are_normal():
    assert function({}) == ()
    assert function({2: "b", 1: "a"}) == ("a", "b")
    assert isinstance(function({True: 1}), Fcn)
    assert isinstance(function({0: 1, 1: 2}), Fcn)
    with pytest.raises(ValueError, match="is a sequence"):
        Fcn({1: 2})


def test_a_fcn_is_an_immutable_mapping_in_the_order_of_its_keys():
    fcn = record(b=1, a=2)

    assert list(fcn) == ["a", "b"]
    assert fcn == record(a=2, b=1)
    assert hash(fcn) == hash(record(a=2, b=1))
    assert fcn.set("c", 3) == record(a=2, b=1, c=3)
    assert fcn.set("b", 0) == record(a=2, b=0)
    assert fcn.drop("b") == record(a=2)
    assert fcn.drop("a", "b") == ()
    assert fcn == record(a=2, b=1)
    with pytest.raises(AttributeError):
        fcn._map = {}


def test_override_completes_a_sequence():
    assert override((), 1, "a") == ("a",)
    assert override(("a",), 3, "c") == function({1: "a", 3: "c"})
    assert override(override(("a",), 3, "c"), 2, "b") == ("a", "b", "c")
    with pytest.raises(TypeError):
        override(3, 1, 1)


def test_true_is_not_one():
    assert not identical(True, 1)
    assert not identical((1, frozenset({True})), (1, frozenset({1})))
    assert not identical(function({True: 0}), function({False: 0}))
    assert not identical(record(a=1), record(a=True))
    assert in_order([1, True, "a", ()]) == [True, 1, "a", ()]


def test_a_reader_parses_a_repeated_text_once():
    read = Reader()

    assert read("<<1, {2}>>") is read("<<1, {2}>>")


def test_itf_in_apalaches_own_words_is_read():
    assert from_itf({"#bigint": "-3"}) == -3
    assert from_itf({"#tup": [1, {"#set": [2]}]}) == (1, frozenset({2}))
    assert from_itf({"#map": [[1, "a"], [2, "b"]]}) == ("a", "b")
    assert from_itf({"f": 1}) == record(f=1)
    for wrong in ({"#set": 1}, {"#what": []}, 1.5, None, {"#map": [[1]]}):
        with pytest.raises(ValueError, match="ITF"):
            from_itf(wrong)


def test_a_trace_is_written_as_itf():
    assert trace_to_itf(["x"], [{"x": 1}, {"x": frozenset()}], loop=0) == {
        "#meta": {"format": "ITF"},
        "vars": ["x"],
        "states": [{"#meta": {"index": 0}, "x": 1}, {"#meta": {"index": 1}, "x": {"#set": []}}],
        "loop": 0,
    }
