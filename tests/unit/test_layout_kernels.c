/* counter/layout_kernels: the shipped list knows the kernels that profilers show around cuDNN and PyTorch, and no kernel that computes. */
#include "counter/layout_kernels.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void shipped_list(void **state)
{
    static const char *const moves[] = {
        "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, "
        "(cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>, __half const *, __half *)",
        "void cudnn::ops::nhwcToNchwKernel<float, float, float, true, false, (cudnnKernelDataType_t)2>", "nhwcAddPaddingKernel",
        "void at::native::elementwise_kernel<128, 4, "
        "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)>>"};
    static const char *const computes[] = {"sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x64",
                                           "conv_wgmma_blocks", "pointwise_epilogue",
                                           "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop>"};
    struct layout_kernels list;
    layout_kernels_load(NULL, &list);
    assert_true(list.count >= 5);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (layout_kernels_find(&list, moves[i]) < 0)
            fail_msg("%s is not known", moves[i]);
    for (size_t i = 0; i < sizeof computes / sizeof *computes; i++)
        if (layout_kernels_find(&list, computes[i]) >= 0)
            fail_msg("%s only moves?", computes[i]);
    layout_kernels_free(&list);
}

static void own_list(void **state)
{
    char path[] = "/tmp/test_layout_kernels_XXXXXX";
    struct layout_kernels list;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(write(fd, "# nothing\n\n  turn* # a comment\r\n", 32) == 32);
    close(fd);
    layout_kernels_load(path, &list);
    assert_int_equal(list.count, 1);
    assert_true(layout_kernels_find(&list, "turn_4") == 0 && layout_kernels_find(&list, "return") == -1);
    char name[8];
    layout_kernels_name(&list, 0, name, sizeof name);
    assert_string_equal(name, "turn");
    layout_kernels_free(&list);
    unlink(path);
    layout_kernels_load(path, &list);
    assert_true(list.count == 0 && layout_kernels_find(&list, "turn_4") == -1);
    layout_kernels_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_list), cmocka_unit_test(own_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
