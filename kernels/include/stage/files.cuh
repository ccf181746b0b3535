/* stage/files: the headers of the stages that the compiler was told of, at most 16 different ones. */
#pragma once
#ifdef STAGE_FILE_0
#include STAGE_FILE_0
#endif
#ifdef STAGE_FILE_1
#include STAGE_FILE_1
#endif
#ifdef STAGE_FILE_2
#include STAGE_FILE_2
#endif
#ifdef STAGE_FILE_3
#include STAGE_FILE_3
#endif
#ifdef STAGE_FILE_4
#include STAGE_FILE_4
#endif
#ifdef STAGE_FILE_5
#include STAGE_FILE_5
#endif
#ifdef STAGE_FILE_6
#include STAGE_FILE_6
#endif
#ifdef STAGE_FILE_7
#include STAGE_FILE_7
#endif
#ifdef STAGE_FILE_8
#include STAGE_FILE_8
#endif
#ifdef STAGE_FILE_9
#include STAGE_FILE_9
#endif
#ifdef STAGE_FILE_10
#include STAGE_FILE_10
#endif
#ifdef STAGE_FILE_11
#include STAGE_FILE_11
#endif
#ifdef STAGE_FILE_12
#include STAGE_FILE_12
#endif
#ifdef STAGE_FILE_13
#include STAGE_FILE_13
#endif
#ifdef STAGE_FILE_14
#include STAGE_FILE_14
#endif
#ifdef STAGE_FILE_15
#include STAGE_FILE_15
#endif
