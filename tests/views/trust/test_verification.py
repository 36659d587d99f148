"""What `verify` found, for people and programs."""

import json

from rig.builders.locks import package

from render.lock.online.verify import Trouble, VerifyFinding
from render.views.trust.verification import findings_document, format_findings


def test_no_form_shows_the_secrets_in_a_url(canary: str) -> None:
    detail = f"https://robin:{canary}@registry.example.org/v2/?signature={canary} is gone"
    found = [VerifyFinding(package("base v1.0.0"), Trouble.BYTES_GONE, (detail,))]

    texts = [format_findings("shop", 1, found), json.dumps(findings_document("shop", 1, found))]

    assert [("https://***@registry.example.org/v2/" in text, canary in text) for text in texts] == [
        (True, False)
    ] * 2
