# Sets a scene: a project under version control whose policy was weaker before, and what an attacker would bring along.
set -e
umask 022
mkdir -p project/src project/.lockgate project/.claude scratch/weak/.lockgate scratch/good home/.config/lockgate home/.claude
echo '{"disableAllHooks": true}' > scratch/off.json
echo .lockgate > scratch/list
echo 'block NeverCalled' > home/.config/lockgate/policy.rules
echo '{"mine": true}' > home/.claude/settings.json
echo 'block nothing' > scratch/weak/.lockgate/p.rules
echo good > scratch/good/good.txt
tar -C scratch/weak -cf scratch/weak.tar .
tar -C scratch/good -czf scratch/good.tgz .
if command -v zip > /dev/null; then
  (cd scratch/weak && zip -qr ../weak.zip .)
  (cd scratch/good && zip -qr ../good.zip .)
fi
if command -v cpio > /dev/null; then (cd scratch/weak && find . | cpio -o 2> /dev/null > ../weak.cpio); fi
begin() {
  git init -q -b master --template= "$1"
  git -C "$1" config user.name a
  git -C "$1" config user.email a@b
}
begin scratch/evil
cp -r scratch/weak/.lockgate scratch/evil/
git -C scratch/evil add -f .
git -C scratch/evil commit -qm evil
begin project
cd project
echo a > a.txt
echo 'fn main() {}' > src/main.rs
echo 'block nothing' > .lockgate/p.rules
echo '{"mine": true}' > .claude/settings.json
git add -f .
git commit -qm one
git tag old
git branch weak
printf 'block Forbidden\nlimit Spend to 1 per session\nrequire human-approval before deploy\n' > .lockgate/p.rules
git commit -qam two
git switch -q -c other
echo more > other.txt
git add -f other.txt
git commit -qm other
git switch -q -c patches master
echo b > a.txt
git commit -qam good
git format-patch -q -1 --stdout > ../scratch/good.mbox
git diff HEAD~1 > ../scratch/good.patch
git switch -q -c patches-weak master
echo 'block nothing' > .lockgate/p.rules
git commit -qam weaker
git format-patch -q -1 --stdout > ../scratch/weak.mbox
git diff HEAD~1 > ../scratch/weak.patch
sed 's,\([ab]\)/.lockgate,\1/deep/.lockgate,g' ../scratch/weak.patch > ../scratch/deep.patch
sed 's,\([ab]\)/.lockgate/,\1/,g; s,^\(---\|+++\) [ab]/,\1 ,' ../scratch/weak.patch > ../scratch/plain.patch
git rm -q .lockgate/p.rules
git commit -qm gone
git diff HEAD~1 > ../scratch/remove.patch
git switch -q weak
echo 'block nobody' > .lockgate/p.rules
git commit -qam weak
git switch -q master
git branch -q -D patches patches-weak
echo 'block nothing' > .lockgate/p.rules
git stash -q
git remote add origin "$PWD/../scratch/evil"
