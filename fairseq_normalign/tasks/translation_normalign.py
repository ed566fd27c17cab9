"""``--task translation_normalign``: fairseq's translation task, with alignments that can be trusted.

It takes any encoder-decoder Transformer as it is. Beside alignments it mends what would lose or shift sentences.
"""

import atexit
import copy
import logging
import os
import sys
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq.data.data_utils import infer_language_pair
from fairseq.dataclass import ChoiceEnum
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from fairseq.utils import split_paths
from omegaconf import II

from ..aligning.aligner import Aligner
from ..aligning.choose_layer import SAMPLE, judge_by_pairs
from ..aligning.directions import EncodedAligner
from ..aligning.options import DEFAULT_SETTING, AlignmentOptions, layer_argument
from ..alignment.decide import NULL_POLICIES
from ..alignment.dump import DumpWriter
from ..alignment.pieces import LEVELS
from ..alignment.steps_to_words import SETTINGS
from ..analysis.layer_choice import sentence_of
from ..errors import NormalignError
from ..hosts.fairseq.datasets import first_pairs, keep_every_sentence, post_process_original_text, reading_dataset
from ..hosts.fairseq.dictionaries import load_dictionary
from ..hosts.fairseq.generator import AligningGenerator
from ..hosts.fairseq.host import FairseqModel, TaskBatches
from ..hosts.fairseq.loading import without_embedding_files
from ..hosts.fairseq.recording import decoder_layers, make_readable
from ..text.tags import TAGS
from ..text.vocabulary import POST_PROCESS_SCHEMES, Vocabulary, scheme_of_dictionary, scheme_of_post_process

logger = logging.getLogger(__name__)

# fairseq reads the types of the fields below at run time: no postponed annotations, and Optional in the old spelling
# ruff: noqa: UP045


@dataclass
class TranslationNormalignConfig(TranslationConfig):
    """The options of fairseq's translation task and those of the alignments."""

    normalign_method: str = field(
        default="norms", metadata={"help": "how alignments are read: norms, weights, or another registered method"}
    )
    normalign_layer: Optional[str] = field(
        default=None,
        metadata={"help": "decoder layer to read, from 1, or 'auto'; default: the bottom third (2 of 6, 1 of 3)"},
    )
    normalign_head: Optional[int] = field(
        default=None, metadata={"help": "read this head alone, from 1; default: all heads of the layer together"}
    )
    normalign_setting: ChoiceEnum((DEFAULT_SETTING, *SETTINGS)) = field(  # type: ignore[valid-type]
        default=DEFAULT_SETTING,
        metadata={"help": "read a word at the decoder step where it is the input (awi) or the output (awo)"},
    )
    normalign_level: Optional[ChoiceEnum(LEVELS)] = field(  # type: ignore[valid-type]
        default=None,
        metadata={"help": "level of the A- lines; default: that of the printed sentence, words with --post-process"},
    )
    normalign_null: ChoiceEnum(NULL_POLICIES) = field(  # type: ignore[valid-type]
        default="best",
        metadata={"help": "when the end of sentence or a tag wins: the best real word, or leave the word unaligned"},
    )
    normalign_tags: str = field(
        default=TAGS, metadata={"help": "pattern of language tags in front of a sentence, which are not words"}
    )
    normalign_check: bool = field(
        default=False, metadata={"help": "verify on every batch that what is read adds up to what the layers return"}
    )
    normalign_dump: Optional[str] = field(
        default=None, metadata={"help": "write the soft alignments of all layers to this new directory"}
    )
    normalign_dump_heads: bool = field(default=False, metadata={"help": "with the dump: every head as well"})
    post_process: Optional[str] = II("common_eval.post_process")


@register_task("translation_normalign", dataclass=TranslationNormalignConfig)
class TranslationNormalignTask(TranslationTask):
    """Translation whose alignments come from vector norms, or from another method by name."""

    cfg: TranslationNormalignConfig

    def __init__(self, cfg: TranslationNormalignConfig, src_dict: Any, tgt_dict: Any) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        self._layer = layer_argument(cfg.normalign_layer)
        self._interactive = False
        self.alignment_options()

    def alignment_options(self) -> AlignmentOptions:
        """The options as given; ``--normalign-layer auto`` is settled only when there is something to choose by."""
        return AlignmentOptions(
            method=self.cfg.normalign_method,
            layer=None if self._layer == "auto" else self._layer,  # type: ignore[arg-type]
            head=self.cfg.normalign_head,
            setting=str(self.cfg.normalign_setting),
            null=str(self.cfg.normalign_null),
            tags=self.cfg.normalign_tags,
            check=self.cfg.normalign_check,
        )

    @classmethod
    def setup_task(cls, cfg: TranslationNormalignConfig, **options: Any) -> Any:
        """As in fairseq; a directory that does not show its languages is one line."""
        paths = split_paths(cfg.data) if cfg.data else []
        if paths and (cfg.source_lang is None or cfg.target_lang is None):
            source, target = infer_language_pair(paths[0]) if os.path.isdir(paths[0]) else (None, None)
            if source is None or target is None:
                raise NormalignError(f"{paths[0]}: does not show the languages; give them as -s and -t")
        return super().setup_task(cfg, **options)

    @classmethod
    def load_dictionary(cls, filename: str) -> Any:
        """As in fairseq; a damaged file is said with the line that is."""
        return load_dictionary(filename)

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """Any encoder-decoder Transformer; a model that cannot be read is refused here, in one line."""
        if from_checkpoint:  # the parameters are in it; files that it names are none of our business
            cfg = without_embedding_files(cfg)
        model = super().build_model(cfg, from_checkpoint)
        decoder_layers(model)
        make_readable(model)
        return model

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **options: Any) -> None:
        """As in fairseq; original text, which ``--replace-unk`` prints and copies from, is post-processed too."""
        with reading_dataset(self.cfg.data, split):
            super().load_dataset(split, epoch=epoch, combine=combine, **options)
        post_process_original_text(self.datasets[split], self.cfg.post_process)

    def build_dataset_for_inference(self, *args: Any, **options: Any) -> Any:
        """Only fairseq-interactive calls this."""
        self._interactive = True
        return super().build_dataset_for_inference(*args, **options)

    def get_batch_iterator(self, dataset: Any, *args: Any, **options: Any) -> Any:
        """As in fairseq, but no sentence is dropped with an incomplete last batch."""
        keep_every_sentence(dataset)
        return super().get_batch_iterator(dataset, *args, **options)

    def filter_indices_by_size(
        self, indices: Any, dataset: Any, max_positions: Any = None, ignore_invalid_inputs: bool = False
    ) -> Any:
        """As in fairseq, but a sentence that is too long is named in one line."""
        kept = super().filter_indices_by_size(indices, dataset, max_positions, True)
        lost = sorted(set(map(int, indices)) - set(map(int, kept)))
        if lost and not ignore_invalid_inputs:
            size = dataset.size(lost[0])
            found = " and ".join(str(int(side)) for side in (size if isinstance(size, tuple) else (size,)))
            raise NormalignError(
                f"sentence {lost[0] + 1} has {found} pieces, {max_positions} are allowed "
                f"({len(lost)} such); --skip-invalid-size-inputs-valid-test leaves them out"
            )
        return kept

    def build_generator(
        self,
        models: Any,
        args: Any,
        seq_gen_cls: Any = None,
        extra_gen_cls_kwargs: Any = None,
        **options: Any,
    ) -> Any:
        """fairseq's generator, and around it the alignments if anything asks for them."""
        form = getattr(args, "print_alignment", None)
        replaces = getattr(args, "replace_unk", None) is not None
        plain = copy.copy(args)
        plain.print_alignment = None
        generator = super().build_generator(models, plain, seq_gen_cls, extra_gen_cls_kwargs, **options)
        if not form and not replaces and self.cfg.normalign_dump is None:
            return generator
        printed = self._printed_level()
        return AligningGenerator(
            generator,
            self.build_aligner(models, generator),
            models,
            self.vocabularies(generator),
            form="soft" if str(form) == "soft" else "hard",
            level=str(self.cfg.normalign_level or printed),
            printed_level=printed,
            nbest=max(1, getattr(args, "nbest", None) or 1),
            indexed_rows=self._interactive or "fairseq_cli.interactive" in sys.modules,
            dump=self._open_dump(),
        )

    def vocabularies(self, generator: Any = None) -> tuple[Vocabulary, Vocabulary]:
        """Return what makes the indices of the source and of the target into words."""
        hidden = getattr(generator, "symbols_to_strip_from_output", ())
        tags = self.alignment_options().tags
        source, target = (
            Vocabulary(dictionary, self._scheme(dictionary), tags=tags, ignored=hidden)
            for dictionary in (self.src_dict, self.tgt_dict)
        )
        return source, target

    def build_aligner(self, models: Any, generator: Any = None) -> Aligner:
        """Return what aligns batches of these models, its layer chosen."""
        aligner = Aligner([FairseqModel(model) for model in models], self.alignment_options())
        if self._layer == "auto":
            self._choose_layer(aligner, self.vocabularies(generator))
        return aligner

    def _choose_layer(self, aligner: Aligner, vocabularies: tuple[Vocabulary, Vocabulary]) -> None:
        """By the references of the loaded split, if there are any."""
        given = str(self.cfg.normalign_setting)
        settings = SETTINGS if given == DEFAULT_SETTING else (given,)
        direction = EncodedAligner(aligner, TaskBatches(self, aligner.reader.models))
        verdicts = (
            judge_by_pairs(direction, pairs, settings=settings)
            for dataset in self.datasets.values()
            if (pairs := first_pairs(dataset, vocabularies, SAMPLE))
        )
        verdict = next((verdict for verdict in verdicts if verdict is not None), None)
        if verdict is None:
            logger.warning(
                "--normalign-layer auto: no references to choose by; reading layer %d, %s",
                aligner.reading.layer + 1,
                aligner.options.setting,
            )
            return
        aligner.read_at(verdict.choice.candidate.layer, verdict.choice.candidate.setting)
        logger.info("%s", sentence_of(verdict.choice, verdict.criteria, "--normalign-"))

    def _scheme(self, dictionary: Any) -> str:
        """How pieces make up words: as printed, or, when pieces are printed, as the dictionary marks them."""
        if self._printed_level() == "word":
            return scheme_of_post_process(self.cfg.post_process)
        return scheme_of_dictionary(dictionary)

    def _printed_level(self) -> str:
        """The level of the sentences that fairseq prints."""
        if self.cfg.normalign_level == "piece" and self.cfg.post_process not in POST_PROCESS_SCHEMES:
            return "piece"
        return "piece" if scheme_of_post_process(self.cfg.post_process) == "words" else "word"

    def _open_dump(self) -> DumpWriter | None:
        if self.cfg.normalign_dump is None:
            return None
        dump = DumpWriter(
            self.cfg.normalign_dump, method=self.cfg.normalign_method, heads=self.cfg.normalign_dump_heads
        )
        atexit.register(_settle, dump)
        return dump


def _settle(dump: DumpWriter) -> None:
    """At exit: a run that ended in an error leaves no dump."""
    if hasattr(sys, "last_value"):
        dump.abandon()
    else:
        dump.close()
