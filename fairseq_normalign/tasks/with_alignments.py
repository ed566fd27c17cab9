"""Alignments for any translation task of fairseq: options, the generator around the task's own one, dumps.

``add_alignments("translation_multi_simple_epoch")`` registers ``translation_multi_simple_epoch_normalign``, which takes
the flags of that task and ``--normalign-*``, and whose hypotheses are those of that task.
"""

import argparse
import atexit
import copy
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields, make_dataclass
from enum import Enum
from typing import Any, Optional

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY, register_task
from omegaconf import II

from ..align.model import Model
from ..align.options import AUTO, AlignmentOptions
from ..align.sample import SAMPLE, choose_by_pairs, sentence_of_choice
from ..errors import NormalignError
from ..hosts.fairseq.generator import AligningGenerator
from ..hosts.fairseq.host import FairseqModel, TaskBatches
from ..hosts.fairseq.task import SUFFIX, Frame, first_pairs, host_of
from ..hosts.options import prepare_modules
from ..links.dump import DumpWriter
from ..links.pieces import LEVELS
from ..options import type_of
from ..text.vocabulary import (
    POST_PROCESS_SCHEMES,
    Dictionary,
    Vocabulary,
    check_words_known,
    scheme_of_dictionary,
    scheme_of_post_process,
)

logger = logging.getLogger(__name__)

# fairseq reads the types of the fields below at run time: no postponed annotations, and Optional in the old spelling
# ruff: noqa: UP045


def _task_field(declared: Any) -> tuple[str, Any, Any]:
    """Return an option of :class:`..align.options.AlignmentOptions` as a field of a fairseq task."""
    about, default = declared.metadata, declared.default
    kind = ChoiceEnum(about["choices"]) if about["choices"] else about["parse"] or type_of(declared) or str
    if default is None:
        kind = Optional[kind]
    return f"normalign_{declared.name}", kind, field(default=default, metadata={"help": about["help"]})


@dataclass
class _OutputFields(FairseqDataclass):
    """What is written, beside what is read."""

    normalign_level: Optional[ChoiceEnum(LEVELS)] = field(  # type: ignore[valid-type]
        default=None,
        metadata={"help": "level of the A- lines; default: that of the printed sentence, words with --post-process"},
    )
    normalign_dump: Optional[str] = field(
        default=None, metadata={"help": "write the soft alignments of all layers to this new directory"}
    )
    normalign_dump_heads: bool = field(default=False, metadata={"help": "with the dump: every head as well"})
    post_process: Optional[str] = II("common_eval.post_process")


AlignmentFields = make_dataclass(
    "AlignmentFields", [_task_field(declared) for declared in fields(AlignmentOptions)], bases=(_OutputFields,)
)
"""The options of the alignments. Readings are chosen by the references only where 'auto' is asked for."""


class AlignmentTask:
    """Stands in front of a task of :mod:`..hosts.fairseq.task`: its hypotheses get alignments."""

    settings: Any
    datasets: dict[str, Any]
    frame: Callable[[], Frame]
    one_direction: Callable[[Any], Any]
    source_dictionary: Dictionary
    target_dictionary: Dictionary

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._interactive = False
        self.alignment_options()

    @classmethod
    def add_args(cls, parser: argparse.ArgumentParser) -> None:
        """The flags of the task and ours."""
        super().add_args(parser)  # type: ignore[misc]
        gen_parser_from_dataclass(parser, AlignmentFields())  # what is there already stays

    def alignment_options(self) -> AlignmentOptions:
        """The options as given; readings that are chosen by the references are left open."""
        given = {one.name: getattr(self.settings, f"normalign_{one.name}") for one in fields(AlignmentOptions)}
        settled: dict[str, Any] = {name: str(one) if isinstance(one, Enum) else one for name, one in given.items()}
        return AlignmentOptions(**settled)

    def build_dataset_for_inference(self, *args: Any, **options: Any) -> Any:
        """Only fairseq-interactive calls this."""
        self._interactive = True
        return super().build_dataset_for_inference(*args, **options)  # type: ignore[misc]

    def build_generator(self, models: Any, args: Any, *others: Any, **options: Any) -> Any:
        """The task's own generator, and around it the alignments if anything asks for them."""
        prepare_modules(models)
        form = getattr(args, "print_alignment", None)
        replaces = getattr(args, "replace_unk", None) is not None
        plain = copy.copy(args)
        plain.print_alignment = None
        given = {name: value for name, value in options.items() if value is not None}  # not every task takes them all
        generator = super().build_generator(models, plain, *others, **given)  # type: ignore[misc]
        if not form and not replaces and self.settings.normalign_dump is None:
            return generator
        # fairseq prints the target's tag when it scores references; links count the words of what is printed
        hidden = getattr(generator, "symbols_to_strip_from_output", None)
        if hidden is not None and not getattr(self.settings, "keep_inference_langtok", False):
            generator.symbols_to_strip_from_output = {*hidden, *self.frame().target}
        if self.settings.normalign_level == "word":  # pieces must never pass for words
            for dictionary in (self.source_dictionary, self.target_dictionary):
                check_words_known(self._scheme(dictionary))
        aligning = AligningGenerator(
            generator,
            self,
            models,
            form="soft" if str(form) == "soft" else "hard",
            level=str(self.settings.normalign_level or self.printed_level),
            nbest=max(1, getattr(args, "nbest", None) or 1),
            indexed_rows=self._interactive or "fairseq_cli.interactive" in sys.modules,
        )
        if self.settings.normalign_dump is not None:
            aligning.dump = DumpWriter(
                self.settings.normalign_dump,
                method=self.settings.normalign_method,
                heads=self.settings.normalign_dump_heads,
            )
            atexit.register(_settle, aligning.dump)
        return aligning

    def vocabularies(self, generator: Any = None) -> tuple[Vocabulary, Vocabulary]:
        """Return what makes the indices of the source and of the target into words."""
        tags, frame = self.alignment_options().tags, self.frame()
        hidden = getattr(generator, "symbols_to_strip_from_output", ())
        source, target = (
            Vocabulary(dictionary, self._scheme(dictionary), tags=tags, ignored=ignored)
            for dictionary, ignored in (
                (self.source_dictionary, frame.source),
                (self.target_dictionary, {*hidden, *frame.target}),
            )
        )
        return source, target

    def build_aligner(self, models: Any, generator: Any = None) -> Model:
        """Return what aligns batches of these models, its readings chosen by the references of the loaded split."""
        read = [FairseqModel(self.one_direction(model)) for model in models]
        model = Model(TaskBatches(self, read, tags_in_lines=True), self.alignment_options())
        if self.settings.normalign_readings != AUTO:
            return model
        vocabularies = self.vocabularies(generator)
        for dataset in self.datasets.values():
            pairs = [model.checked(pair) for pair in first_pairs(dataset, vocabularies, SAMPLE)]
            if any(not isinstance(pair, str) for pair in pairs):
                choice = choose_by_pairs(model, pairs)
                logger.info("%s", sentence_of_choice(choice))
                return model.reading(choice.expert)
        logger.warning("no references to choose readings by; reading %s", model.expert.label)
        return model

    def _scheme(self, dictionary: Dictionary) -> str:
        """How pieces make up words: as printed, or, when pieces are printed, as the dictionary marks them."""
        if self.printed_level == "word":
            return scheme_of_post_process(self.settings.post_process)
        return scheme_of_dictionary(dictionary)

    @property
    def printed_level(self) -> str:
        """The level of the sentences that fairseq prints."""
        symbol = self.settings.post_process
        if self.settings.normalign_level == "piece" and symbol not in POST_PROCESS_SCHEMES:
            return "piece"
        return "piece" if scheme_of_post_process(symbol) == "words" else "word"


def _settle(dump: DumpWriter) -> None:
    """At exit: a run that ended in an error leaves no dump."""
    if hasattr(sys, "last_value"):
        dump.abandon()
    else:
        dump.close()


def add_alignments(name: str) -> type:
    """Register the task ``name`` with alignments, as ``{name}_normalign``; harmless when it is there already.

    For a task of a user's own that extends one of fairseq's translation tasks, in the ``__init__.py`` of its user-dir:

        import fairseq_normalign
        from .my_task import MyTask                # @register_task("my_task")

        fairseq_normalign.add_alignments("my_task")     # --task my_task_normalign --print-alignment hard
    """
    ours = f"{name}{SUFFIX}"
    if ours in TASK_REGISTRY:
        return TASK_REGISTRY[ours]
    if name not in TASK_REGISTRY:
        raise NormalignError(f"fairseq knows no task '{name}'; register it first")
    stock = TASK_REGISTRY[name]
    host = host_of(stock)
    if host is None:
        raise NormalignError(f"the task '{name}' does not extend a translation task of fairseq")
    made = type(f"{stock.__name__}Normalign", (AlignmentTask, host, stock), {"__doc__": f"``{name}`` with alignments."})
    config = TASK_DATACLASS_REGISTRY.get(name)  # the older tasks have none
    if config is not None:
        config = make_dataclass(f"{config.__name__}Normalign", [], bases=(config, AlignmentFields))
        config.__module__ = __name__
    return register_task(ours, dataclass=config)(made)
