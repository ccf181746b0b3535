/* base/file_system: see file_system.h. */
#include "base/file_system.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>

/* statfs's f_type, from statfs(2), linux/magic.h and the file systems' own headers. */
static const struct {
    uint32_t type;
    const char *name;
    bool local;
} systems[] = {
    {0x6969, "nfs", false},         {0xff534d42, "cifs", false},    {0xfe534d42, "smb2", false},     {0x517b, "smb", false},
    {0x01021997, "9p", false},      {0x65735546, "fuse", false}, /* sshfs, s3fs, GlusterFS, virtiofs ...: a local one cannot be told from
                                                                    them */
    {0x0bd00bd0, "lustre", false},  {0x47504653, "gpfs", false},    {0x19830326, "beegfs", false},   {0x00c36400, "ceph", false},
    {0x7461636f, "ocfs2", false},   {0x01161970, "gfs2", false},    {0x20030528, "orangefs", false}, {0xaad7aaea, "panfs", false},
    {0x5346414f, "afs", false},     {0x6b414653, "afs", false},     {0x73757245, "coda", false},     {0x786f4256, "vboxsf", false},
    {0xbacbacbc, "vmhgfs", false},  {0xef53, "ext4", true},         {0x58465342, "xfs", true},       {0x9123683e, "btrfs", true},
    {0x2fc12fc1, "zfs", true},      {0xca451a4e, "bcachefs", true}, {0xf2f52010, "f2fs", true},      {0x3153464a, "jfs", true},
    {0x52654973, "reiserfs", true}, {0x01021994, "tmpfs", true},    {0x858458f6, "ramfs", true},     {0x794c7630, "overlay", true},
    {0x61756673, "aufs", true},     {0xf15f, "ecryptfs", true},     {0x4d44, "msdos", true},         {0x2011bab0, "exfat", true},
    {0x5346544e, "ntfs", true},     {0x7366746e, "ntfs3", true},    {0x73717368, "squashfs", true},  {0x9660, "iso9660", true},
};

const char *file_system_shared(const char *path)
{
    static _Thread_local char unknown[32];
    struct statfs s;
    if (statfs(path, &s))
        return NULL;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if ((uint32_t)s.f_type == systems[i].type)
            return systems[i].local ? NULL : systems[i].name;
    snprintf(unknown, sizeof unknown, "type 0x%x", (unsigned)s.f_type);
    return unknown;
}
