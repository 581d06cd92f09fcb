# Completion of recipe-runner-rs in bash: the program itself names the candidates.
_recipe_runner_rs() {
    local program=${COMP_WORDS[0]/#\~/$HOME} word i cur prefix
    local -a words=()
    # bash takes `--set=a` for three words
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]} > 0)) && [[ $word == = || ${words[${#words[@]} - 1]} == *= ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    cur=${words[${#words[@]} - 1]}
    prefix=${cur%"${cur##*=}"}
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        case $word in
            :files)
                compopt -o filenames 2> /dev/null
                while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${cur#"$prefix"}")
                ;;
            *=)
                compopt -o nospace 2> /dev/null
                COMPREPLY+=("${word#"$prefix"}")
                ;;
            *) COMPREPLY+=("${word#"$prefix"}") ;;
        esac
    done < <("$program" __complete -- "${words[@]}" 2> /dev/null)
}
complete -o nosort -F _recipe_runner_rs recipe-runner-rs 2> /dev/null || complete -F _recipe_runner_rs recipe-runner-rs
