"""The translation tasks of fairseq, made safe: every sentence kept, clear errors, known symbols around a sentence.

A mixin stands in front of a task of fairseq's (or of a user's own, if it extends one of them): the hypotheses and
scores stay those of that task. :func:`host_class` makes the class; the alignments are added on top of it, elsewhere.
"""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from fairseq.data.data_utils import infer_language_pair, post_process
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.multilingual_translation import MultilingualTranslationTask
from fairseq.tasks.translation import TranslationTask
from fairseq.tasks.translation_from_pretrained_bart import TranslationFromPretrainedBARTTask
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask
from fairseq.utils import split_paths
from numpy.typing import ArrayLike
from torch import isfinite, nn

from ...errors import NormalignError
from ...text.encoding import Line
from ...text.vocabulary import Dictionary, Vocabulary
from ..loading import faults_of
from ..protocol import Pair
from .checkpoints import check_names
from .loading import load_dictionary
from .model import decoder_layers, make_readable


@dataclass(frozen=True)
class Frame:
    """The symbols that a task puts around a sentence, as dictionary indices: end of sentence and language tags."""

    source_front: tuple[int, ...]
    source_end: tuple[int, ...]
    target_start: tuple[int, ...]
    """What the decoder is given before the first piece; the first of them is the start symbol."""
    target_end: tuple[int, ...]
    """What the decoder has to say after the last piece."""

    def pieces(self, target: Sequence[int]) -> list[int]:
        """Return the pieces of a hypothesis, without the tags in front, as far as they are there, and its end."""
        found = list(target)
        for symbol in self.target_start[1:]:
            found = found[1:] if found[:1] == [symbol] else found
        for symbol in reversed(self.target_end):
            found = found[:-1] if found[-1:] == [symbol] else found
        return found

    @property
    def source(self) -> frozenset[int]:
        """All symbols around the source."""
        return frozenset((*self.source_front, *self.source_end))

    @property
    def target(self) -> frozenset[int]:
        """All symbols around the target."""
        return frozenset((*self.target_start, *self.target_end))


def first_pairs(dataset: Any, vocabularies: tuple[Vocabulary, Vocabulary], count: int) -> list[Pair]:
    """Return the first ``count`` pairs of a dataset as the model gets them; none when it has no targets."""
    dataset = _of_direction(dataset)
    source, target = vocabularies
    pairs = []
    for number in range(min(count, len(dataset))):
        sample = dataset.collater([dataset[number]])
        if sample.get("target") is None:
            return []
        pieces, words = sample["net_input"]["src_tokens"][0].tolist(), sample["target"][0, :-1].tolist()
        pairs.append((Line(pieces, source.sentence(pieces)), Line(words, target.sentence(words))))
    return pairs


def _of_direction(dataset: Any) -> Any:
    """Return the data set of the direction that is evaluated, where there are several; () for all at once."""
    return dataset.datasets.get(dataset.eval_key, ()) if hasattr(dataset, "longest_dataset") else dataset


SUFFIX = "_normalign"
"""Our tasks are named after those they extend."""
TAG_OPTIONS = ("encoder_langtok", "decoder_langtok", "lang_tok_style", "lang_tok_replacing_bos_eos", "prepend_bos")
"""How a model was trained it has to be run."""


class HostTask:
    """Stands in front of ``TranslationTask`` or of another translation task."""

    cfg: Any
    args: Any
    datasets: dict[str, Any]
    source_dictionary: Dictionary
    target_dictionary: Dictionary
    is_multilingual: ClassVar[bool] = False
    """Whether the same model may translate in other directions, too."""
    serves_every_direction: ClassVar[bool] = False
    """Whether one encoder and one decoder serve all directions, which only language tags tell apart."""

    @property
    def settings(self) -> Any:
        """The options of the task: a configuration, or the Namespace of the older tasks."""
        return self.cfg if self.cfg is not None else self.args

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language."""
        return self.settings.source_lang, self.settings.target_lang

    def frame(self) -> Frame:
        """Return what is put around the sentences of this direction."""
        return self._tagged(None, None)

    def _tagged(self, source_tag: int | None, target_tag: int | None, *, replacing: bool = False) -> Frame:
        """Tags in front of the sentences, or, ``replacing``, instead of the source's end and the start symbol."""
        ends = self.source_dictionary.eos(), self.target_dictionary.eos()
        source, target = (() if tag is None else (tag,) for tag in (source_tag, target_tag))
        if replacing:
            return Frame((), source or (ends[0],), target or (ends[1],), (ends[1],))
        return Frame(source, (ends[0],), (ends[1], *target), (ends[1],))

    # -- what fairseq calls -------------------------------------------------------------------------------------------

    @classmethod
    def setup_task(cls, cfg: Any, **options: Any) -> Any:
        """Set the task up as fairseq does; a missing language or file is an error of one line."""
        cls.prepare_settings(cfg)
        with faults_of("the task cannot be set up"):
            return super().setup_task(cfg, **options)  # type: ignore[misc]

    @classmethod
    def prepare_settings(cls, cfg: Any) -> None:
        """Check and complete the options before the task is made."""
        if cls.is_multilingual:
            if (cfg.source_lang is None) != (cfg.target_lang is None):
                raise NormalignError(
                    "source and target language are needed, or, to train on all pairs, neither; give -s and -t"
                )
            return
        paths = split_paths(cfg.data) if cfg.data else []
        if paths and (cfg.source_lang is None or cfg.target_lang is None):
            source, target = infer_language_pair(paths[0]) if os.path.isdir(paths[0]) else (None, None)
            if source is None or target is None:
                raise NormalignError(f"{paths[0]}: does not show the languages; give them as -s and -t")

    @classmethod
    def load_dictionary(cls, filename: str) -> Any:
        """Load a dictionary as fairseq does; an error names the damaged line."""
        return load_dictionary(filename)

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """Build any encoder-decoder Transformer; a model that cannot be read is refused here, in one line."""
        if from_checkpoint:
            check_names(cfg, is_task_given=True)
            self._check_saved(cfg)
            for name in ("encoder_embed_path", "decoder_embed_path"):  # the files its embeddings were made from
                if getattr(cfg, name, None):
                    cfg = copy.deepcopy(cfg)
                    setattr(cfg, name, None)
        model = super().build_model(cfg, from_checkpoint)  # type: ignore[misc]
        for part in _parts(model).values():
            decoder_layers(part)
        make_readable(model)
        model.register_load_state_dict_pre_hook(self._check_embeddings)
        return model

    def _check_saved(self, saved: Any) -> None:
        """Refuse a model of another task, whose sentences had other symbols around them; ``saved`` may not say it."""
        name = str(getattr(saved, "task", None) or "")
        trained = host_of(TASK_REGISTRY[name]) if name in TASK_REGISTRY else None
        if trained is not None and not isinstance(self, trained):
            raise ValueError(
                f"it was trained with the task '{name}', which puts other symbols around a sentence; "
                f"use --task {name.removesuffix(SUFFIX)}{SUFFIX}"
            )
        for option in TAG_OPTIONS if trained not in (None, HostTask) else ():
            given, was = (getattr(place, option, None) or None for place in (self.settings, saved))
            if hasattr(saved, option) and given != was:
                flag = f"--{option.replace('_', '-')}"
                raise ValueError(f"it was trained with {flag} {was or 'off'}, which is {given or 'off'} here")

    def one_direction(self, model: Any) -> Any:
        """Return the encoder and decoder of this direction, where a model has several."""
        parts = _parts(model)
        return parts["-".join(self.languages)] if "" not in parts else model

    def _check_embeddings(self, model: nn.Module, parameters: dict[str, Any], *ignored: Any) -> None:
        """Check that dictionaries fit the parameters to load; an error names the dictionary and the difference."""
        if getattr(self, "training", False):  # all directions at once: each has its own dictionaries
            return
        sides = {"encoder": ("source", self.source_dictionary), "decoder": ("target", self.target_dictionary)}
        for name, tensor in parameters.items():
            placeholder = name.endswith("._float_tensor")  # fairseq stores what was in memory, for its type
            if tensor.is_floating_point() and not placeholder and not bool(isfinite(tensor).all()):
                raise ValueError(f"NaN or infinity in its parameter {name}; is the file damaged?")
            side = name.removesuffix(".embed_tokens.weight").rpartition(".")[2]
            if not name.endswith(".embed_tokens.weight") or side not in sides:
                continue
            which, dictionary = sides[side]
            if len(tensor) != len(dictionary):
                much = f"{abs(len(tensor) - len(dictionary))} {'more' if len(dictionary) > len(tensor) else 'fewer'}"
                raise ValueError(
                    f"its {side} has {len(tensor)} embeddings, the {which} dictionary in {self.settings.data} has "
                    f"{len(dictionary)} entries, {much}; is it another model's?"
                )

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **options: Any) -> None:
        """Load a split as fairseq does; what ``--replace-unk`` copies from is in the words that are printed."""
        with faults_of(f"{self.settings.data}: the split '{split}' cannot be read"):
            super().load_dataset(split, epoch=epoch, combine=combine, **options)  # type: ignore[misc]
        symbol = getattr(self.settings, "post_process", None)
        for name in ("src", "tgt"):
            side: Any = getattr(self.datasets[split], name, None)
            original = getattr(side, "get_original_text", None)  # raw text alone has it
            if symbol is not None and original is not None and "get_original_text" not in vars(side):
                side.get_original_text = functools.partial(_printed_text, original, symbol)

    def get_batch_iterator(self, dataset: Any, *args: Any, **options: Any) -> Any:
        """Return batches as fairseq does, but drop no sentence with an incomplete last batch.

        fairseq main drops it when its size is not a multiple of ``--required-batch-size-multiple``.
        """
        if "batch_by_size" not in vars(dataset):
            dataset.batch_by_size = functools.partial(_every_sentence, dataset.batch_by_size)
        return super().get_batch_iterator(dataset, *args, **options)  # type: ignore[misc]

    def filter_indices_by_size(
        self, indices: Any, dataset: Any, max_positions: Any = None, ignore_invalid_inputs: bool = False
    ) -> Any:
        """Leave out what fairseq leaves out; a sentence that is too long and may not be is named in one line."""

        def sentences(found: ArrayLike) -> np.ndarray:
            """The numbers of sentences; a data set of several directions counts batches, and all at once has none."""
            if not hasattr(dataset, "longest_dataset"):
                return np.asarray(found)
            return np.asarray(dataset._ordered_indices[dataset.eval_key] if dataset.eval_key else [], dtype=np.int64)

        before = sentences(indices)
        kept = super().filter_indices_by_size(indices, dataset, max_positions, True)  # type: ignore[misc]
        lost = np.setdiff1d(before, sentences(kept))
        if len(lost) and not ignore_invalid_inputs:
            size = _of_direction(dataset).size(int(lost[0]))
            pieces = " and ".join(str(int(side)) for side in (size if isinstance(size, tuple) else (size,)))
            raise NormalignError(
                f"sentence {lost[0] + 1} has {pieces} pieces, {max_positions} are allowed "
                f"({len(lost)} such); --skip-invalid-size-inputs-valid-test leaves them out"
            )
        return kept


# what is put into a data set is no closure: worker processes that are not forked get it pickled


def _every_sentence(original: Any, indices: ArrayLike, *given: Any, **wanted: Any) -> list[Any]:
    """Return batches of all sentences: those that ``original`` left out come last."""
    indices = np.asarray(indices)
    batches = list(original(indices, *given, **wanted)) if len(indices) else []
    lost = indices[~np.isin(indices, np.concatenate(batches) if batches else indices[:0])]
    if len(lost):
        batches.extend(original(lost, *given, **{**wanted, "required_batch_size_multiple": 1}))
    return batches


def _printed_text(original: Any, symbol: str, number: int) -> str:
    return post_process(original(number), symbol)


def _parts(model: Any) -> Any:
    """Return the models of all directions by their names, or the one that serves all."""
    found = getattr(model, "models", None)
    return found if isinstance(found, nn.ModuleDict) else {"": model}


class MultiSimpleEpochHost(HostTask):
    """Stands in front of ``translation_multi_simple_epoch``: M2M-100, NLLB, mBART-50, WMT21."""

    data_manager: Any
    is_multilingual = True
    serves_every_direction = True

    def reversed(self) -> Any:
        """Return this task for the other direction."""
        settings = copy.copy(self.args)
        settings.source_lang, settings.target_lang = self.languages[::-1]
        return type(self).setup_task(settings)

    @classmethod
    def prepare_settings(cls, cfg: Any) -> None:
        """Both languages or none; for one direction, the list of all directions is not needed."""
        super().prepare_settings(cfg)
        if cfg.lang_pairs is None and cfg.source_lang is not None:
            if not cfg.langs and not cfg.lang_dict:
                raise NormalignError(
                    "the languages of the model are not known; give --lang-dict, --langs or --lang-pairs"
                )
            cfg.lang_pairs = [f"{cfg.source_lang}-{cfg.target_lang}"]

    def frame(self) -> Frame:
        """Tags in front of both sides, or, with ``--lang-tok-replacing-bos-eos``, instead of end and start."""
        source, target = self.languages
        source_spec, target_spec = self.args.langtoks["main"]
        source_tag = self.data_manager.get_encoder_langtok(source, target, source_spec)
        target_tag = self.data_manager.get_decoder_langtok(target, target_spec)
        return self._tagged(source_tag, target_tag, replacing=self.args.lang_tok_replacing_bos_eos)


class MultilingualHost(HostTask):
    """Stands in front of ``multilingual_translation``, where tags replace the source's end and the start symbol."""

    is_multilingual = True

    def frame(self) -> Frame:
        """``--encoder-langtok`` replaces the source's end, ``--decoder-langtok`` the start symbol."""
        source, target = self.languages
        source_tag = self.get_encoder_langtok(source, target)  # type: ignore[attr-defined]
        target_tag = self.get_decoder_langtok(target)  # type: ignore[attr-defined]
        return self._tagged(source_tag, target_tag, replacing=True)

    def inference_step(self, generator: Any, models: Any, sample: Any, *args: Any, **options: Any) -> Any:
        """Score or translate with the model of this direction; fairseq would run those of all directions at once."""
        models = [self.one_direction(model) for model in models]
        return super().inference_step(generator, models, sample, *args, **options)  # type: ignore[misc]


class PretrainedBartHost(HostTask):
    """Stands in front of ``translation_from_pretrained_bart``, which fairseq left half converted: it lacks ``args``."""

    def __init__(self, cfg: Any, *args: Any, **options: Any) -> None:
        if not getattr(cfg, "langs", None):
            raise NormalignError("the languages of the pretrained model are not known; give them as --langs")
        self.args = cfg
        super().__init__(cfg, *args, **options)  # type: ignore[call-arg]

    def frame(self) -> Frame:
        """The source ends in ``</s> [de_DE]``; the decoder starts and ends with ``[en_XX]``, after ``</s>``."""
        source, target = self.languages
        source_tag = self.source_dictionary.index(f"[{source}]")
        target_tag = self.target_dictionary.index(f"[{target}]")
        front = (self.source_dictionary.bos(),) if getattr(self.args, "prepend_bos", False) else ()
        end = self.source_dictionary.eos(), self.target_dictionary.eos()
        return Frame(front, (end[0], source_tag), (target_tag, *front), (end[1], target_tag))


HOSTS: dict[type, type[HostTask]] = {
    TranslationMultiSimpleEpochTask: MultiSimpleEpochHost,
    MultilingualTranslationTask: MultilingualHost,
    TranslationFromPretrainedBARTTask: PretrainedBartHost,
    TranslationTask: HostTask,
}
"""Task of fairseq's -> what stands in front of it and of whatever extends it."""


def host_of(task_class: type) -> type[HostTask] | None:
    """Return what stands in front of a task, or None: it does not extend a translation task that is known here."""
    return next((HOSTS[base] for base in task_class.__mro__ if base in HOSTS), None)


@functools.cache
def host_class(task_class: type) -> type:
    """Return ``task_class`` made safe."""
    host = host_of(task_class)
    if host is None:
        raise NormalignError(f"{task_class.__name__} does not extend a translation task of fairseq")
    return type(f"Host{task_class.__name__}", (host, task_class), {})
