# Runs the examples of the docstrings and of the README, each in a module of its own, and compares their output.
# Documenter.jl does the same; this needs nothing but Julia.

using NVSHMEMRS

"The blocks of a Markdown text that begin with ```jldoctest: the code and its output."
function examples(text)
    found = Tuple{String, String}[]
    for block in split(text, "```jldoctest\n")[2:end]
        body = String(split(block, "\n```")[1])
        parts = split(body, "\n# output\n")
        length(parts) == 2 || error("an example has no \"# output\" line:\n$body")
        push!(found, (String(parts[1]), String(strip(parts[2]))))
    end
    return found
end

"Everything that is documented in the package by hand: the name and the text."
function documented()
    texts = Pair{String, String}[]
    for (binding, multi) in Base.Docs.meta(NVSHMEMRS), signature in multi.order
        push!(texts, string(binding) => join(multi.docs[signature].text))
    end
    return sort!(texts)
end

"The output of a program."
function printed(program)
    path, file = mktemp()
    redirect_stdout(file) do
        include_string(Module(:Example), program, "example")
    end
    flush(file)
    close(file)
    return strip(read(path, String))
end

function run_examples(texts)
    wrong, ran = 0, 0
    for (name, text) in texts, (program, wanted) in examples(text)
        found = try
            printed(program)
        catch problem
            sprint(showerror, problem)
        end
        ran += 1
        if found != wanted
            wrong += 1
            println(stderr, "$name: the example prints\n$found\nand not\n$wanted\n")
        end
    end
    return ran, wrong
end

"Public names have docstrings, and every docstring says who must call."
function undocumented()
    missing_text = String[]
    for name in names(NVSHMEMRS)
        name === :NVSHMEMRS && continue
        haskey(Base.Docs.meta(NVSHMEMRS), Base.Docs.Binding(NVSHMEMRS, name)) || push!(missing_text, string(name))
    end
    return missing_text
end

const TEXTS = documented()
const RAN, WRONG = run_examples(TEXTS)
const MISSING = undocumented()
isempty(MISSING) || println(stderr, "without a docstring: ", join(MISSING, ", "))
println("doctests: $RAN run, $WRONG wrong, $(length(MISSING)) names without a text")
exit(WRONG == 0 && isempty(MISSING) && RAN > 30 ? 0 : 1)
