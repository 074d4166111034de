#!/bin/sh
# Boot the distribution's systemd in a copy of this machine that shares only its network. Every
# change goes to memory: FOLDER gets a tmpfs that only this process and its children see. Homing is
# in /opt/homing with a Python of its own, because the units hide /root and /home.
#   unshare --mount --pid --fork --kill-child --cgroup --ipc --uts boot_systemd.sh FOLDER CHECKOUT VENV PYTHON
# VENV is the environment with the packages, PYTHON the installation that it is based on.
set -eu
folder=$1 checkout=$2 venv=$3 python=$4

mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
cd "$folder"
mkdir changed work root
mount -t overlay -o lowerdir=/,upperdir=changed,workdir=work overlay root
cd root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
# Where cgroup controllers of version 1 are in use, systemd gets a hierarchy without controllers.
if ! mount -t cgroup2 cgroup2 sys/fs/cgroup 2>/dev/null || ! [ -s sys/fs/cgroup/cgroup.controllers ]; then
    mount -t tmpfs tmpfs sys/fs/cgroup
    mkdir sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd systemd sys/fs/cgroup/systemd
fi

mkdir -p opt/homing/.venv/bin opt/homing/.venv/lib opt/python
tar -C "$checkout" --mode=a+rX -c --exclude='./.*' --exclude=__pycache__ . | tar -C opt/homing -x
mount --bind "$venv/lib" opt/homing/.venv/lib
mount --bind "$python" opt/python
for name in "$venv"/bin/python3.*; do
    ln -s "/opt/python/bin/$(basename "$name")" opt/homing/.venv/bin/python
done
echo "home = /opt/python/bin" >opt/homing/.venv/pyvenv.cfg
echo "homing:x:65000:65000::/opt/homing:/usr/sbin/nologin" >>etc/passwd
echo "homing:x:65000:" >>etc/group

# Nothing of the machine starts except the journal: no kernel settings, no timers, no clean-up.
rm -rf etc/fstab etc/systemd/system lib/systemd/system/*.wants
mkdir -p etc/systemd/system etc/homing lib/systemd/system/sysinit.target.wants
ln -s ../systemd-journald.service lib/systemd/system/sysinit.target.wants/

mkdir old
pivot_root . old
umount -l old
echo /opt/python/lib >/etc/ld.so.conf.d/00-python.conf
ldconfig
exec env -i container=homing PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=basic.target --show-status=no
