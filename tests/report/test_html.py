"""What is written stays text: nothing that a name holds can become an element."""

from __future__ import annotations

from isthmus.report.html import Markup, joined, named, sentence, tag


def test_text_and_attributes_are_escaped_and_elements_are_not_escaped_twice():
    inner = tag("b", 'a < b & "c"')
    assert inner == "<b>a &lt; b &amp; &quot;c&quot;</b>"
    assert tag("p", inner, class_='"x"') == f'<p class="&quot;x&quot;">{inner}</p>'
    assert joined(None, Markup("<i>"), "<i>") == "<i>&lt;i&gt;"


def test_attributes_that_are_false_or_none_are_left_out():
    assert tag("input", open=False, id=None, checked=True, data_k=1) == '<input checked data-k="1">'


def test_a_name_may_break_at_its_slashes():
    assert named("a/b<c") == '<code class="name">a/<wbr>b&lt;c</code>'


def test_a_sentence_begins_with_a_capital_unless_it_begins_with_a_name():
    assert sentence("the noise is `small`.") == "The noise is <code>small</code>."
    for text in ("link/rod/mass has no effect.", "ist.design(...) helps.", "k̂ is large."):
        assert sentence(text) == text
