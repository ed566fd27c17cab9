"""The package fairseq-normalign; import name fairseq_normalign, command normalign."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION: dict = {}
exec((HERE / "fairseq_normalign" / "version.py").read_text(encoding="utf-8"), VERSION)

EXTRAS = {
    "plots": ["matplotlib>=3.7"],
    "gradients": ["captum>=0.7"],  # only an oracle beside our own gradients: nothing here imports it
    "aligners": ["eflomal>=2.0"],
    "sentencepiece": ["sentencepiece>=0.1.99"],
    "view": ["matplotlib>=3.7"],
    "zstd": ["backports.zstd>=1.0; python_version < '3.14'"],
    "bert": ["transformers>=4.40"],
}
EXTRAS["dev"] = [
    *EXTRAS["plots"],
    *EXTRAS["sentencepiece"],
    *EXTRAS["gradients"],
    "hypothesis>=6.100",
    "mypy>=2.4,<2.5",  # what a new version of a linter finds is for us, not for a newcomer's first test run
    "playwright>=1.40",
    "pytest>=8",
    "ruff>=0.17,<0.18",
    "sacrebleu>=2.4",
]

setup(
    name="fairseq-normalign",
    version=VERSION["__version__"],
    description="Word alignments from fairseq Transformers, by the lengths of the vectors they add",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    python_requires=">=3.10",
    packages=find_packages(include=["fairseq_normalign", "fairseq_normalign.*"]),
    package_data={"fairseq_normalign": ["py.typed", "report/assets/*"]},
    install_requires=[
        "fairseq==0.12.2; python_version < '3.11'",
        "fairseq-fixed==0.12.3.1; python_version >= '3.11'",
        "torch>=2.6",
        "numpy>=1.22",
        "sacremoses>=0.1",
        "subword-nmt>=0.3.8",
        "safetensors>=0.4",
        "tqdm>=4.60",
    ],
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["normalign = fairseq_normalign.cli:main"]},
)
