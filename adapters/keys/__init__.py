"""Witness keys at rest, and the recovery key as words.

``witness.key`` is a text file in every form; its second line says which form it is.
"""
