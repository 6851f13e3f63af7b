"""What does not have its form is refused in words, not with the regular expression it does not match."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from node.config.forms import invalid_in_words
from node.config.settings import parse
from protocol.errors import MeshError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name: 'a b!'",
            "Expected letters, digits, spaces and . _ - (starting with a letter, a digit or _) - at `$.name`",
        ),
        ("policy: {origins: [https://A.example]}", "Expected an origin in lower case, such as https://shop.example"),
        ("browser: {profile: {locale: english}}", "Expected a language, such as de, en-GB"),
    ],
)
def test_a_configuration_is_refused_with_the_form_in_words(text: str, said: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse(text)
    assert said in caught.value.message and "regex" not in caught.value.message


def test_a_form_that_nobody_put_into_words_shows_no_regular_expression_either() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(["x"], list[Annotated[str, msgspec.Meta(pattern=r"^it's\d$")]])
    with pytest.raises(msgspec.ValidationError) as quoted:
        msgspec.convert(["x"], list[Annotated[str, msgspec.Meta(pattern=r"""^'"\d$""")]])
    for error in (caught.value, quoted.value):
        assert invalid_in_words(error) == "Expected text of another form - at `$[0]`"
