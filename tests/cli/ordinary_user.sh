#!/bin/sh
# In a mount namespace of its own (unshare --mount): makes the source tree read-only, /dev/shm a file system of 64 MiB and
# an empty folder for the run, becomes an ordinary user, and runs the command given.
#   ordinary_user.sh SOURCE COMMAND...
set -eu
source=$1
shift
mount --make-rprivate /
mount --bind "$source" /mnt
# A clone below a folder that only root may enter is put back where it was, below folders that anyone may enter.
folder=$source
closed=
while [ "$folder" != / ]; do
  folder=$(dirname "$folder")
  [ "$(stat -c %a "$folder" | tail -c 2)" -ge 5 ] || closed=$folder
done
if [ -n "$closed" ]; then
  mount -t tmpfs -o mode=755 none "$closed"
  mkdir -p "$source"
fi
mount --bind /mnt "$source"
mount -o remount,bind,ro "$source"
mount -t tmpfs -o size=64m,mode=1777 none /dev/shm
mount -t tmpfs -o size=1g,mode=1777 none /media
cd /media
exec setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/media "$@"
