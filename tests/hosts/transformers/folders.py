"""Folders as users have them: tiny random models with the tokenizers of their families, made here."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from tests.hosts.transformers.tiny_families import FAMILIES, transformers

CONSONANTS, VOWELS = "bdfgklmnprst", "aeiouäö"


def lines(seed: int, count: int = 300) -> list[str]:
    """Made-up natural text: capital letters, commas, full stops, words of several syllables."""
    chance = random.Random(seed)
    syllables = [a + b for a in CONSONANTS for b in VOWELS]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(120)]
    made = []
    for _ in range(count):
        line = " ".join(chance.choices(words, k=chance.randint(3, 8)))
        made.append(line.replace(" ", ", ", 1).capitalize() + ".")
    return made


def train_pieces(folder: Path, name: str, text: list[str]) -> sentencepiece.SentencePieceProcessor:
    file = folder / name
    with open(file, "wb") as handle:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text), model_writer=handle, vocab_size=90, minloglevel=2, hard_vocab_limit=False
        )
    return sentencepiece.SentencePieceProcessor(model_file=str(file))


def all_pieces(model: sentencepiece.SentencePieceProcessor) -> list[str]:
    return [model.id_to_piece(number) for number in range(3, model.get_piece_size())]


def save_json(folder: Path, name: str, content: Any) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def save_model(folder: Path, family: str, words: int, **options: Any) -> None:
    """A model with so many words, random, in float32, with a decoder that ends its sentences."""
    config_name, model_name, sizes = FAMILIES[family]
    sizes = {**sizes, "vocab_size": words, "max_position_embeddings": 64, **options}
    if family == "t5":
        sizes.pop("max_position_embeddings")
    torch.manual_seed(5)
    config = getattr(transformers, f"{config_name}Config")(**sizes)
    model = getattr(transformers, model_name)(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(folder)


def marian(folder: Path, tags: tuple[str, ...] = ()) -> Path:
    source, target = train_pieces(folder, "source.spm", lines(1)), train_pieces(folder, "target.spm", lines(2))
    pieces = ["</s>", "<unk>", *tags, *dict.fromkeys(all_pieces(source) + all_pieces(target)), "<pad>"]
    save_json(folder, "vocab.json", {piece: number for number, piece in enumerate(pieces)})
    options = {"tokenizer_class": "MarianTokenizer", "source_lang": "de", "target_lang": "en"}
    save_json(folder, "tokenizer_config.json", options)
    pad = len(pieces) - 1
    ids = {"pad_token_id": pad, "eos_token_id": 0, "bos_token_id": 0, "decoder_start_token_id": pad}
    save_model(folder, "marian", len(pieces), **ids)
    return folder


def m2m100(folder: Path) -> Path:
    model = train_pieces(folder, "sentencepiece.bpe.model", lines(1) + lines(2))
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *all_pieces(model)]
    save_json(folder, "vocab.json", {piece: number for number, piece in enumerate(pieces)})
    save_json(folder, "tokenizer_config.json", {"tokenizer_class": "M2M100Tokenizer", "src_lang": "en"})
    save_model(folder, "m2m100", len(pieces) + 108)
    return folder


def nllb(folder: Path) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=150, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False)
    backend.train_from_iterator(lines(1) + lines(2), trainer)
    learned = json.loads(backend.to_str())["model"]
    merges = [tuple(merge) for merge in learned["merges"]]
    codes = ["deu_Latn", "eng_Latn", "fra_Latn"]
    tokenizer = transformers.NllbTokenizer(vocab=learned["vocab"], merges=merges, extra_special_tokens=codes)
    tokenizer.save_pretrained(folder)
    save_model(folder, "m2m100", len(tokenizer))
    return folder


def mbart50(folder: Path) -> Path:
    model = train_pieces(folder, "unused.spm", lines(1) + lines(2))
    vocabulary = [(model.id_to_piece(number), model.get_score(number)) for number in range(model.get_piece_size())]
    tokenizer = transformers.MBart50Tokenizer(vocab=vocabulary, src_lang="de_DE", tgt_lang="en_XX")
    tokenizer.save_pretrained(folder)
    save_model(folder, "mbart", len(tokenizer))
    return folder


def mbart(folder: Path) -> Path:
    model = train_pieces(folder, "unused.spm", lines(1) + lines(2))
    vocabulary = [(piece, 0.0) for piece in ("<s>", "<pad>", "</s>", "<unk>")]
    vocabulary += [(model.id_to_piece(number), model.get_score(number)) for number in range(3, model.get_piece_size())]
    tokenizer = transformers.MBartTokenizer(vocab=vocabulary, src_lang="de_DE", tgt_lang="en_XX")
    tokenizer.save_pretrained(folder)
    save_model(folder, "mbart", len(tokenizer), decoder_start_token_id=None)
    return folder


def t5(folder: Path) -> Path:
    model = train_pieces(folder, "unused.spm", lines(1) + lines(2))
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocabulary += [(model.id_to_piece(number), model.get_score(number)) for number in range(3, model.get_piece_size())]
    tokenizer = transformers.T5Tokenizer(vocab=vocabulary, extra_ids=0)
    tokenizer.save_pretrained(folder)
    tasks = {"translation_de_to_en": {"prefix": "fofi dada: "}}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    save_model(folder, "t5", len(tokenizer), task_specific_params=tasks, num_layers=3, **ids)
    return folder


def fsmt(folder: Path) -> Path:
    """Its two vocabularies differ, in their order and in what they know."""
    letters = sorted({letter for line in lines(1) + lines(2) for letter in line.lower()} - {" "})
    merges = [f"{a} {b}" for a in CONSONANTS for b in VOWELS]
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), *(merge.replace(" ", "") for merge in merges)]
    pieces += [f"{piece}</w>" for piece in pieces if "</w>" not in piece and len(piece) == 2]
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    for name, order in (("vocab-src.json", pieces), ("vocab-tgt.json", pieces[::-1])):
        save_json(folder, name, {piece: number for number, piece in enumerate(specials + order)})
    ends = [f"{merge}</w>" for merge in merges]
    (folder / "merges.txt").write_text("\n".join(merges + ends) + "\n", encoding="utf-8")
    options = {"tokenizer_class": "FSMTTokenizer", "langs": ["de", "en"], "do_lower_case": True}
    save_json(folder, "tokenizer_config.json", options)
    count = len(specials + pieces)
    save_model(folder, "fsmt", count, src_vocab_size=count, tgt_vocab_size=count)
    return folder


MAKERS = {maker.__name__: maker for maker in (marian, m2m100, nllb, mbart50, mbart, t5, fsmt)}
LANGUAGES = {
    "m2m100": ("de", "en"),
    "nllb": ("deu_Latn", "eng_Latn"),
    "mbart50": ("de_DE", "en_XX"),
    "mbart": ("de_DE", "en_XX"),
    "t5": ("de", "en"),
}
