"""Print a script that completes verbs and options of normalign in a shell.

bash: source <(normalign completion bash)          zsh: source <(normalign completion zsh)
"""

from __future__ import annotations

from typing import ClassVar

from ..options import option, options

SCRIPT = """\
_normalign() {
  local current=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='%s'
  else
    case "$verb ${COMP_WORDS[COMP_CWORD-1]}" in
%s
    esac
    [ -n "$words" ] || case "$verb" in
%s
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ "${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _normalign normalign
"""


@options
class Options:
    """The shell."""

    EXAMPLE: ClassVar = "source <(normalign completion bash)"
    shell: str = option("the shell that reads the script", choices=("bash", "zsh"), positional=True)


def run(args: Options) -> None:
    from . import VERBS, verb_parser

    values, flags = [], []
    for verb in VERBS:
        actions = verb_parser(verb)._actions
        names = [name for action in actions for name in action.option_strings if name.startswith("--")]
        flags.append(f"      {verb}) words='{' '.join(names)}';;")
        for action in actions:
            for name in action.option_strings if action.choices else ():
                values.append(f"      '{verb} {name}') words='{' '.join(map(str, action.choices or ()))}';;")
    if args.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print(SCRIPT % (" ".join(VERBS), "\n".join(values), "\n".join(flags)), end="")
