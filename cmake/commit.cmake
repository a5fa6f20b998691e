# The commit that is built, for 'carom version': run at every build, writes OUTPUT only when it changes.
#
# Given: SOURCE, OUTPUT, GIT. Without git, in a tarball, or where git refuses, the commit is unknown.

set(commit "")
# a tarball unpacked inside of another repository is not of that one
if(GIT AND EXISTS ${SOURCE}/.git)
    execute_process(COMMAND ${GIT} -c safe.directory=* -C ${SOURCE} describe --always --tags --dirty
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
endif()
if(NOT commit MATCHES "^[-A-Za-z0-9._/]+$")
    set(commit unknown)
endif()
set(text "// Made by cmake/commit.cmake.\n#define CAROM_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
    file(WRITE ${OUTPUT} "${text}")
endif()
