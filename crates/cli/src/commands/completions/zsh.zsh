#compdef recipe-runner-rs
# Completion of recipe-runner-rs in zsh: the program itself names the candidates.
_recipe-runner-rs() {
    local -a found closed open
    local line value item files=0
    found=("${(@f)$("${(Q)words[1]}" __complete -- "${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
    for line in $found; do
        if [[ $line == :files ]]; then
            files=1
            continue
        fi
        value=${line%%$'\t'*}
        item="${value//:/\\:}:${line#*$'\t'}"
        # the value of a variable follows at once
        if [[ $value == *= ]]; then open+=("$item"); else closed+=("$item"); fi
    done
    (( $#closed )) && _describe -V 'recipe-runner-rs' closed
    (( $#open )) && _describe -V 'variables' open -S ''
    if (( files )); then
        compset -P '*='
        _files
    fi
}
if [[ $funcstack[1] == _recipe-runner-rs ]]; then
    _recipe-runner-rs "$@"
else
    compdef _recipe-runner-rs recipe-runner-rs
fi
