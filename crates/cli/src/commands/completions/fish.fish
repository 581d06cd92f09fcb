# Completion of recipe-runner-rs in fish: the program itself names the candidates.
function __recipe_runner_rs_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete -- $words[2..-1] "$current" 2> /dev/null)
        if test "$line" = ":files"
            __fish_complete_path (string replace -r '^.*=' '' -- "$current")
        else
            echo $line
        end
    end
end
complete -c recipe-runner-rs -f -a '(__recipe_runner_rs_complete)'
