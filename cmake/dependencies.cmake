# What the library links: carom_dependencies for the build, CAROM_STATIC_LINK for those who link the
# installed archive.

# A library by header and name; says which Debian package has it.
function(carom_find name header package)
    find_path(${name}_INCLUDE_DIR ${header})
    find_library(${name}_LIBRARY NAMES ${name})
    mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
    if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
        message(FATAL_ERROR "${header} or lib${name} is missing. On Debian: apt-get install ${package}")
    endif()
endfunction()

# The name under which programs linked with a shared library ask for it.
function(carom_soname library out)
    get_filename_component(file ${library} REALPATH)
    get_filename_component(file ${file} NAME)
    if(CMAKE_READELF)
        execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic ERROR_QUIET)
        if(dynamic MATCHES "SONAME[^\n]*\\[([^]\n]+)\\]")
            set(file ${CMAKE_MATCH_1})
        endif()
    endif()
    set(${out} ${file} PARENT_SCOPE)
endfunction()

carom_find(expat expat.h libexpat1-dev)
carom_find(jansson jansson.h libjansson-dev)

add_library(carom_dependencies INTERFACE)
target_include_directories(carom_dependencies SYSTEM INTERFACE
    ${expat_INCLUDE_DIR} ${jansson_INCLUDE_DIR})
target_link_libraries(carom_dependencies INTERFACE ${expat_LIBRARY} ${jansson_LIBRARY} m)
set(CAROM_STATIC_LINK expat jansson m)

# threads of a batch; without them it runs on one, with the same bits
if(NOT CAROM_MINIMAL)
    find_package(OpenMP COMPONENTS C QUIET)
endif()
if(OpenMP_C_FOUND AND NOT CAROM_MINIMAL)
    target_link_libraries(carom_dependencies INTERFACE OpenMP::OpenMP_C)
    list(APPEND CAROM_STATIC_LINK ${OpenMP_C_FLAGS})
else()
    target_compile_options(carom_dependencies INTERFACE -Wno-unknown-pragmas)
endif()

# Orders that keep sparse factors sparse; on Debian its header has a folder of its own. Without it the
# order is the natural one.
if(NOT CAROM_MINIMAL)
    find_path(amd_INCLUDE_DIR amd.h PATH_SUFFIXES suitesparse)
    find_library(amd_LIBRARY NAMES amd)
    mark_as_advanced(amd_INCLUDE_DIR amd_LIBRARY)
    if(amd_INCLUDE_DIR AND amd_LIBRARY)
        target_include_directories(carom_dependencies SYSTEM INTERFACE ${amd_INCLUDE_DIR})
        target_link_libraries(carom_dependencies INTERFACE ${amd_LIBRARY})
        target_compile_definitions(carom_dependencies INTERFACE CAROM_HAS_AMD)
        list(APPEND CAROM_STATIC_LINK amd)
    else()
        message(STATUS "AMD not found, large piles will be slower. On Debian: apt-get install libsuitesparse-dev")
    endif()
endif()

# Powell's hybrid method, for joint forces of learned laws; without it such scenes are refused.
if(NOT CAROM_MINIMAL)
    find_path(cminpack_INCLUDE_DIR cminpack.h PATH_SUFFIXES cminpack-1)
    find_library(cminpack_LIBRARY NAMES cminpack)
    mark_as_advanced(cminpack_INCLUDE_DIR cminpack_LIBRARY)
    if(cminpack_INCLUDE_DIR AND cminpack_LIBRARY)
        target_include_directories(carom_dependencies SYSTEM INTERFACE ${cminpack_INCLUDE_DIR})
        target_link_libraries(carom_dependencies INTERFACE ${cminpack_LIBRARY})
        target_compile_definitions(carom_dependencies INTERFACE CAROM_HAS_CMINPACK)
        list(APPEND CAROM_STATIC_LINK cminpack)
    else()
        message(STATUS "cminpack not found, learned laws will not know joints. On Debian: apt-get install libcminpack-dev")
    endif()
endif()

# Trajectories as HDF5, when its library is there; on Debian it has a folder and a name of its own.
# It is loaded when a file wants it, not linked (src/base/io/hdf5_api.h), by the name that programs linked
# with it would ask for.
set(CAROM_HDF5 OFF)
set(hdf5_LIBRARY_FILE "")
if(NOT CAROM_MINIMAL)
    find_path(hdf5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
    find_library(hdf5_LIBRARY NAMES hdf5_serial hdf5)
    mark_as_advanced(hdf5_INCLUDE_DIR hdf5_LIBRARY)
    if(hdf5_INCLUDE_DIR AND hdf5_LIBRARY AND NOT hdf5_LIBRARY MATCHES "\\.a$")
        set(CAROM_HDF5 ON)
        carom_soname(${hdf5_LIBRARY} hdf5_LIBRARY_FILE)
    else()
        message(STATUS "HDF5 not found, .h5 files will be refused. On Debian: apt-get install libhdf5-dev")
    endif()
endif()
if(CAROM_HDF5)
    list(APPEND CAROM_SOURCES ${CAROM_HDF5_SOURCES})
    set_source_files_properties(src/base/io/hdf5_api.c PROPERTIES
        COMPILE_DEFINITIONS "CAROM_HDF5_FILE=\"${hdf5_LIBRARY_FILE}\"")
    target_include_directories(carom_dependencies SYSTEM INTERFACE ${hdf5_INCLUDE_DIR})
    target_link_libraries(carom_dependencies INTERFACE ${CMAKE_DL_LIBS})
    target_compile_definitions(carom_dependencies INTERFACE CAROM_HAS_HDF5) # for its test
    list(APPEND CAROM_STATIC_LINK ${CMAKE_DL_LIBS})

    # in the build tree it is found where it was, as linked libraries are
    get_filename_component(hdf5_folder ${hdf5_LIBRARY} DIRECTORY)
    if(NOT hdf5_folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        list(APPEND CMAKE_BUILD_RPATH ${hdf5_folder})
    endif()
else()
    list(APPEND CAROM_SOURCES ${CAROM_NO_HDF5_SOURCES})
endif()

# Large products of nets by BLAS, when it is there: loaded when one comes (src/base/nn/gemm.c), not linked,
# by the name that programs linked with it would ask for. Every OpenBLAS will do; it is told to use
# one thread.
if(NOT CAROM_MINIMAL)
    find_library(openblas_LIBRARY NAMES openblas)
    mark_as_advanced(openblas_LIBRARY)
    if(openblas_LIBRARY AND NOT openblas_LIBRARY MATCHES "\\.a$")
        carom_soname(${openblas_LIBRARY} openblas_LIBRARY_FILE)
        set_source_files_properties(src/base/nn/gemm.c PROPERTIES
            COMPILE_DEFINITIONS "CAROM_BLAS_FILE=\"${openblas_LIBRARY_FILE}\"")
        target_link_libraries(carom_dependencies INTERFACE ${CMAKE_DL_LIBS})
        list(APPEND CAROM_STATIC_LINK ${CMAKE_DL_LIBS})
    else()
        message(STATUS "OpenBLAS not found, large nets will be slower. On Debian: apt-get install libopenblas-serial-dev")
    endif()
endif()
list(REMOVE_DUPLICATES CAROM_STATIC_LINK)
