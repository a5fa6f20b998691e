# Vector instructions, chosen when the program runs: the numeric layers are compiled with and without
# AVX, and one binary holds both. The bits are the same (no products are contracted, sums keep their
# order); only the speed differs.
#
# Each variant is linked into one relocatable object, in which every internal symbol is local, so
# that two variants stand side by side. In the library each public function is an indirect function
# (cmake/dispatch.c.in), which the loader resolves once. In the command, main asks (cli/start.c).
#
# Where the machine, the compiler or the C library cannot do that, and under sanitizers, there is one
# variant: with AVX where CAROM_AVX says so.

include(CheckCSourceRuns)
include(CheckCSourceCompiles)

set(CMAKE_REQUIRED_FLAGS -mavx)
if(CMAKE_CROSSCOMPILING)
    set(CAROM_HAS_AVX OFF)
else()
    check_c_source_runs("int main(void) { return !__builtin_cpu_supports(\"avx\"); }" CAROM_HAS_AVX)
endif()
set(CMAKE_REQUIRED_FLAGS -Werror)
check_c_source_compiles("
#if !defined(__x86_64__) || !defined(__ELF__)
#error another machine
#endif
static int one(void) { return 1; }
static int (*choose(void))(void) { __builtin_cpu_init(); return __builtin_cpu_supports(\"avx\") ? one : 0; }
int chosen(void) __attribute__((ifunc(\"choose\")));
int main(void) { return chosen(); }" CAROM_HAS_IFUNC)
unset(CMAKE_REQUIRED_FLAGS)

set(dispatch ON)
if(NOT CAROM_HAS_IFUNC OR NOT CMAKE_OBJCOPY OR CAROM_SANITIZE OR CAROM_MINIMAL
    OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(dispatch OFF)
endif()
option(CAROM_DISPATCH "Hold code with and without AVX, and choose when the program runs" ${dispatch})
option(CAROM_AVX "Without CAROM_DISPATCH, and in tests: use AVX instructions" ${CAROM_HAS_AVX})
if(CAROM_DISPATCH AND NOT (CAROM_HAS_IFUNC AND CMAKE_OBJCOPY))
    message(FATAL_ERROR "CAROM_DISPATCH needs x86-64, ELF, indirect functions and objcopy; leave it out")
endif()

# what is compiled once: layers without loops over numbers
set(once_sources ${CAROM_SOURCES})
list(FILTER once_sources INCLUDE REGEX "^src/(base/[^/]*|base/io/.*|model/scene/.*|report/.*)$")
set(vector_sources ${CAROM_SOURCES})
list(REMOVE_ITEM vector_sources ${once_sources})

# Objects of a part of the library: carom_NAME_objects.
function(carom_add_objects name)
    add_library(carom_${name}_objects OBJECT ${ARGN})
    set_target_properties(carom_${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(carom_${name}_objects PRIVATE carom_flags carom_dependencies)
endfunction()

# Links archives into one relocatable object, OUTPUT, in which only KEEP (objcopy's options) is left.
function(carom_link_object output keep)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${output}.all
            -Wl,--whole-archive ${archives} -Wl,--no-whole-archive
        COMMAND ${CMAKE_OBJCOPY} ${keep} ${output}.all ${output}
        COMMAND ${CMAKE_COMMAND} -E rm ${output}.all
        DEPENDS ${ARGN} ${archives} COMMENT "Linking ${output}" VERBATIM)
    set_source_files_properties(${output} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()

# Names of the functions that carom.h declares.
function(carom_public_names out)
    set(header ${PROJECT_SOURCE_DIR}/include/carom/carom.h)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REGEX REPLACE "#[^\n]*" "" text "${text}")
    string(REPLACE ";" "," text "${text}")
    string(REGEX MATCHALL "CR_API [^(]*cr_[a-z0-9_]+\\(" found "${text}")
    list(TRANSFORM found REPLACE ".*[ *]([a-z0-9_]+)\\($" "\\1")
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# carom_static, and carom_plain and carom_avx with CAROM_DISPATCH: archives of internal symbols.
function(carom_add_variants)
    # the bundle is data: every variant refers to the same one, and a new one needs a link alone
    carom_add_objects(viewer ${viewer_bundle})
    if(NOT CAROM_DISPATCH)
        carom_add_objects(all ${CAROM_SOURCES})
        if(CAROM_AVX)
            target_compile_options(carom_flags INTERFACE -mavx)
        endif()
        add_library(carom_static STATIC
            $<TARGET_OBJECTS:carom_all_objects> $<TARGET_OBJECTS:carom_viewer_objects>)
        target_link_libraries(carom_static PRIVATE carom_dependencies)
        return()
    endif()
    carom_add_objects(once ${once_sources})
    foreach(variant plain avx)
        carom_add_objects(${variant} ${vector_sources})
        add_library(carom_${variant} STATIC
            $<TARGET_OBJECTS:carom_once_objects> $<TARGET_OBJECTS:carom_${variant}_objects>)
        target_link_libraries(carom_${variant} PRIVATE carom_dependencies)
    endforeach()
    target_compile_options(carom_avx_objects PRIVATE -mavx)
    set(chosen plain)
    if(CAROM_AVX)
        set(chosen avx)
    endif()
    add_library(carom_static STATIC $<TARGET_OBJECTS:carom_once_objects>
        $<TARGET_OBJECTS:carom_${chosen}_objects> $<TARGET_OBJECTS:carom_viewer_objects>)
    target_link_libraries(carom_static PRIVATE carom_dependencies)

    carom_public_names(names)
    set(text "")
    foreach(variant plain avx)
        set(renamed "")
        foreach(name IN LISTS names)
            string(APPEND renamed "${name} ${name}_${variant}\n")
        endforeach()
        set(file ${PROJECT_BINARY_DIR}/vectors/${variant}.names)
        file(CONFIGURE OUTPUT ${file} CONTENT "${renamed}" @ONLY)
        carom_link_object(${PROJECT_BINARY_DIR}/vectors/library_${variant}.o
            "--localize-hidden;--redefine-syms=${file}" carom_${variant})
    endforeach()
    # one target makes both, since two libraries that are built at once would each write them
    add_custom_target(carom_library_objects DEPENDS
        ${PROJECT_BINARY_DIR}/vectors/library_plain.o ${PROJECT_BINARY_DIR}/vectors/library_avx.o)
    foreach(name IN LISTS names)
        string(APPEND text "CR_DISPATCH(${name})\n")
    endforeach()
    set(CAROM_DISPATCH_LIST "${text}")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/dispatch.c.in
        ${PROJECT_BINARY_DIR}/vectors/dispatch.c @ONLY)
    carom_add_objects(dispatch ${PROJECT_BINARY_DIR}/vectors/dispatch.c)
endfunction()

# Gives a library, shared or archive, its variants.
function(carom_link_variants library)
    if(CAROM_DISPATCH)
        target_sources(${library} PRIVATE
            $<TARGET_OBJECTS:carom_dispatch_objects> $<TARGET_OBJECTS:carom_viewer_objects>
            ${PROJECT_BINARY_DIR}/vectors/library_plain.o
            ${PROJECT_BINARY_DIR}/vectors/library_avx.o)
        add_dependencies(${library} carom_library_objects)
    else()
        target_sources(${library} PRIVATE
            $<TARGET_OBJECTS:carom_all_objects> $<TARGET_OBJECTS:carom_viewer_objects>)
    endif()
endfunction()

# Gives the command its variants. What it is made of but its main is the archive carom_command.
function(carom_link_command target)
    if(NOT CAROM_DISPATCH)
        target_link_libraries(${target} PRIVATE carom_command carom_experiments carom_static)
        return()
    endif()
    foreach(variant plain avx)
        set(object ${PROJECT_BINARY_DIR}/vectors/command_${variant}.o)
        carom_link_object(${object}
            "--redefine-sym=cli_command_main=cli_command_main_${variant};--keep-global-symbol=cli_command_main_${variant}"
            carom_command carom_experiments carom_${variant})
        target_sources(${target} PRIVATE ${object})
    endforeach()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:carom_viewer_objects>)
    target_compile_definitions(${target} PRIVATE CAROM_DISPATCH)
endfunction()
