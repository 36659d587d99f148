"""Regular expressions as Go reads them, in a time that does not grow beyond the product of expression and text.

Rules hold expressions, and a signer chooses the text that they are matched with. Python's expressions differ from
Go's in `$`, `\\z`, repeats and letters that are equal whatever their case, and some of them take for ever on some texts.
So an expression is parsed here, and all ways through it are followed at once. What is not known here is refused, and
never guessed.
"""
