# The script and style of reports, bundled from viewer/ with npm's esbuild into one C file of the
# build tree. Without npm, or without a network the first time, the build goes on: reports then have
# tables and no charts.
#
# Included by CMakeLists.txt; the build runs it again as a script (cmake -P) to make the file.

if(CMAKE_SCRIPT_MODE_FILE)
    # ---- build: VIEWER, OUTPUT, NODE, NPM, TESTS, MINIMAL are given ------------------------------

    get_filename_component(folder ${OUTPUT} DIRECTORY)
    set(script ${folder}/viewer.js)
    set(style ${folder}/viewer.css)
    file(MAKE_DIRECTORY ${folder})
    file(REMOVE ${script} ${style} ${folder}/viewer_missing)

    # npm's own line about what went wrong: the one about the network, else its first
    function(carom_npm_line result text out)
        set(${out} "" PARENT_SCOPE)
        if(NOT result)
            return()
        endif()
        string(REGEX MATCH "npm (ERR!|error) [^\n]*(request to|EACCES|ENOSPC)[^\n]*" line "${text}")
        if(line STREQUAL "")
            string(REGEX MATCH "npm (ERR!|error) [^\n]*" line "${text}")
        endif()
        if(line STREQUAL "")
            set(line "npm ci: ${result}")
        endif()
        set(${out} "${line}" PARENT_SCOPE)
    endfunction()

    set(problem "")
    set(remedy "; install nodejs and npm and build again")
    set(stamp ${VIEWER}/node_modules/.package-lock.json)
    set(omit --omit=dev)
    set(needs_packages OFF)
    if(NOT EXISTS ${stamp} OR ${VIEWER}/package-lock.json IS_NEWER_THAN ${stamp})
        set(needs_packages ON)
    endif()
    if(TESTS)
        set(omit "")
        if(NOT EXISTS ${VIEWER}/node_modules/playwright-core)
            set(needs_packages ON)
        endif()
    endif()
    if(MINIMAL)
        set(problem "this build is minimal")
        set(remedy "")
    elseif(NOT NODE)
        set(problem "nodejs is missing")
    elseif(needs_packages AND NOT NPM)
        set(problem "npm is missing")
    elseif(needs_packages AND "$ENV{CAROM_FETCH}" STREQUAL "OFF")
        set(problem "npm was not asked")
        set(remedy "; build again")
    elseif(needs_packages)
        # a machine without a network must not wait for it
        execute_process(
            COMMAND ${NPM} ci ${omit} --ignore-scripts --no-audit --no-fund --prefer-offline
                --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=15000
            WORKING_DIRECTORY ${VIEWER} TIMEOUT 90
            RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
        carom_npm_line("${result}" "${text}" problem)
        set(remedy "; build again when npm can fetch")
    endif()
    if(problem STREQUAL "")
        execute_process(COMMAND ${NODE} ${VIEWER}/build.mjs ${folder}
            RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
        if(result AND TESTS)
            message(FATAL_ERROR "viewer/build.mjs failed:\n${text}")
        elseif(result)
            string(REGEX MATCH "[^\n]*Error[^\n]*" line "${text}")
            set(problem "viewer/build.mjs failed: ${line}")
            set(remedy "; esbuild needs nodejs 18 or newer")
        endif()
    endif()
    if(NOT problem STREQUAL "")
        message("reports will have no charts: ${problem}${remedy}")
        file(WRITE ${script} "")
        file(WRITE ${folder}/viewer_missing "${problem}\n")
        configure_file(${VIEWER}/src/style.css ${style} COPYONLY)
    endif()

    set(text "// Made from viewer/ by cmake/viewer.cmake.\n\n#include \"report/viewer_bundle.h\"\n")
    foreach(part style script)
        file(SIZE ${${part}} n_byte)
        file(READ ${${part}} bytes HEX)
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
        string(REGEX REPLACE "(................................................................................)"
            "\\1\n" bytes "${bytes}")
        string(APPEND text "\nconst unsigned char cri_viewer_${part}[] = {\n${bytes}0};\n"
            "const size_t cri_viewer_${part}_bytes = ${n_byte};\n")
    endforeach()
    file(WRITE ${OUTPUT} "${text}")
    return()
endif()

# ---- configuration -------------------------------------------------------------------------------

if(NOT CAROM_MINIMAL)
    find_program(node_PROGRAM NAMES node nodejs)
    find_program(npm_PROGRAM NAMES npm)
    mark_as_advanced(node_PROGRAM npm_PROGRAM)
endif()
set(viewer_folder ${PROJECT_SOURCE_DIR}/viewer)
set(viewer_bundle ${PROJECT_BINARY_DIR}/viewer/viewer_bundle.c)

# what was missing the last time may be there now
if(EXISTS ${PROJECT_BINARY_DIR}/viewer/viewer_missing AND NOT CAROM_MINIMAL)
    file(REMOVE ${viewer_bundle})
endif()

list(TRANSFORM CAROM_VIEWER_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE viewer_files)
add_custom_command(OUTPUT ${viewer_bundle}
    COMMAND ${CMAKE_COMMAND} -DVIEWER=${viewer_folder} -DOUTPUT=${viewer_bundle}
        "-DNODE=${node_PROGRAM}" "-DNPM=${npm_PROGRAM}" -DTESTS=${CAROM_TESTS}
        -DMINIMAL=${CAROM_MINIMAL} -P ${CMAKE_CURRENT_LIST_FILE}
    DEPENDS ${viewer_files} ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "Bundling the viewer of reports" VERBATIM)
