"""Stores for the witness key, and the encoding of the recovery key as words.

``witness.key`` is a text file in every form; its second line names the form.
"""
