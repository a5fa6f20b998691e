# Scenes of experiments, as C: so that an installed command needs no files. Run again by cmake when
# one of them changes.

set(scenes_file ${PROJECT_BINARY_DIR}/experiments/lrc_scenes.c)
set(scenes_text "// Made from experiments/scenes by cmake/scenes.cmake.\n\n#include \"lrc_task.h\"\n\n#include <string.h>\n\n")
set(scenes_find "")
foreach(scene billiards push gather sort ant bunny arm)
    set(scene_file ${PROJECT_SOURCE_DIR}/experiments/scenes/${scene}.xml)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scene_file})
    file(READ ${scene_file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND scenes_text "static const char ${scene}[] = {${bytes}0};\n")
    string(APPEND scenes_find "    if (strcmp(name, \"${scene}\") == 0) {\n        return ${scene};\n    }\n")
endforeach()
string(APPEND scenes_text "\nconst char *lrc_scene(const char *name) {\n${scenes_find}    return NULL;\n}\n")
file(WRITE ${scenes_file}.new "${scenes_text}")
configure_file(${scenes_file}.new ${scenes_file} COPYONLY)
