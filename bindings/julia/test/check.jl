# The checks of these tests' programs: a failed check ends the PE, and so the job, and prints the value that it found.

using NVSHMEMRS
using NVSHMEMRS: Status

fail(what, text) = (print(stderr, "PE ", my_pe(), ": ", what, ": ", text, "\n"); exit(1))

same(what, found, wanted) = isequal(found, wanted) || fail(what, "$found, not $wanted")

macro same(found, wanted)
    :(same($(string(found)), $(esc(found)), $(esc(wanted))))
end

"The call must throw an exception of this type, in whose text all the words are."
macro refused(type, words, call)
    quote
        said = try
            $(esc(call))
            nothing
        catch problem
            problem
        end
        said isa $(esc(type)) || fail($(string(call)), "it gave $said, not a $($(esc(type)))")
        text = sprint(showerror, said)
        for word in $(esc(words))
            occursin(word, text) || fail($(string(call)), "\"$word\" is not in \"$text\"")
        end
    end
end

release(arrays...) = (barrier(); foreach(free!, arrays))
