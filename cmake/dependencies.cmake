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

# trajectories as HDF5, when its library is there; on Debian it has a folder and a name of its own
set(CAROM_HDF5 OFF)
if(NOT CAROM_MINIMAL)
    find_path(hdf5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
    find_library(hdf5_LIBRARY NAMES hdf5_serial hdf5)
    mark_as_advanced(hdf5_INCLUDE_DIR hdf5_LIBRARY)
    if(hdf5_INCLUDE_DIR AND hdf5_LIBRARY)
        set(CAROM_HDF5 ON)
    else()
        message(STATUS "HDF5 not found, .h5 files will be refused. On Debian: apt-get install libhdf5-dev")
    endif()
endif()
if(CAROM_HDF5)
    list(APPEND CAROM_SOURCES ${CAROM_HDF5_SOURCES})
    target_include_directories(carom_dependencies SYSTEM INTERFACE ${hdf5_INCLUDE_DIR})
    target_link_libraries(carom_dependencies INTERFACE ${hdf5_LIBRARY})
    target_compile_definitions(carom_dependencies INTERFACE CAROM_HAS_HDF5) # for its test
    get_filename_component(hdf5_name ${hdf5_LIBRARY} NAME_WE)
    string(REGEX REPLACE "^lib" "" hdf5_name ${hdf5_name})
    list(APPEND CAROM_STATIC_LINK ${hdf5_name})
else()
    list(APPEND CAROM_SOURCES ${CAROM_NO_HDF5_SOURCES})
    set(hdf5_LIBRARY "")
endif()
