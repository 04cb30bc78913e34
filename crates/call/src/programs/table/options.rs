//! Which options of a program are the same, a line for each program, or for a program and what it is told to do.
//!
//! `PROGRAMS: GROUP; GROUP`, where a group lists the spellings of one option. A spelling that ends with `=` has a value. A
//! spelling that begins with neither a dash nor a letter is a glob for operands that mean the same: `+*` of `git push`. For a
//! program with verbs, the line of the verb counts, and options before the verb are not looked at. Programs in no line
//! take any option that is spelt as it is looked for.

pub(crate) const OPTIONS: &str = "\
rm: -r -R --recursive; -f --force; -i --interactive; -I; -d --dir; -v --verbose; --no-preserve-root; --one-file-system
rmdir: -p --parents; -v --verbose; --ignore-fail-on-non-empty
cp: -r -R --recursive; -a --archive; -f --force; -i --interactive; -n --no-clobber; -l --link; -s --symbolic-link; -u --update; -v --verbose; -t= --target-directory=; -T --no-target-directory; -S= --suffix=; -b --backup; -p --preserve; -L --dereference; -P --no-dereference
mv: -f --force; -i --interactive; -n --no-clobber; -u --update; -v --verbose; -t= --target-directory=; -T --no-target-directory; -S= --suffix=; -b --backup
ln: -s --symbolic; -f --force; -n --no-dereference; -t= --target-directory=; -v --verbose
mkdir: -p --parents; -m= --mode=; -v --verbose
chmod chown chgrp: -R --recursive; -f --silent --quiet; -v --verbose; -c --changes; --reference=
tar: -x --extract --get; -c --create; -t --list; -f= --file=; -v --verbose; -z --gzip; -j --bzip2; -J --xz; -C= --directory=; -T= --files-from=; -I= --use-compress-program=; -O --to-stdout; -P --absolute-names; --delete; --remove-files
sed: -i --in-place; -n --quiet --silent; -e= --expression=; -f= --file=; -E -r --regexp-extended
grep egrep fgrep: -r --recursive; -R --dereference-recursive; -i --ignore-case; -v --invert-match; -n --line-number; -l --files-with-matches; -e= --regexp=; -f= --file=; -A= --after-context=; -B= --before-context=; -C= --context=; -m= --max-count=
curl: -X= --request=; -d= --data= --data-ascii=; -F= --form=; -T= --upload-file=; -o= --output=; -O --remote-name; -H= --header=; -u= --user=; -k --insecure; -s --silent; -S --show-error; -L --location; -f --fail; -x= --proxy=; -K= --config=; -A= --user-agent=; -b= --cookie=; -c= --cookie-jar=; -m= --max-time=; -w= --write-out=; -I --head; -G --get; -i --include; -v --verbose; -e= --referer=; -E= --cert=; -z= --time-cond=; -r= --range=
wget: -O= --output-document=; -q --quiet; -c --continue; -P= --directory-prefix=; -r --recursive; -i= --input-file=; -U= --user-agent=; -t= --tries=; -T= --timeout=; -e= --execute=
rsync: -a --archive; -r --recursive; -v --verbose; -n --dry-run; -e= --rsh=; --delete --del; -z --compress; -f= --filter=; -B= --block-size=; -T= --temp-dir=
docker podman nerdctl rm: -f --force; -v --volumes; -l --link
docker podman nerdctl rmi: -f --force
docker podman nerdctl run: -v= --volume=; -e= --env=; -p= --publish=; -w= --workdir=; -u= --user=; -d --detach; -i --interactive; -t --tty; -m= --memory=; -h= --hostname=; -l= --label=; -c= --cpu-shares=; --privileged; --rm; --name=; --network= --net=; -P --publish-all
docker podman nerdctl exec: -e= --env=; -w= --workdir=; -u= --user=; -d --detach; -i --interactive; -t --tty; --privileged
docker podman nerdctl build: -t= --tag=; -f= --file=; -q --quiet; --push; --build-arg=; --platform=; --target=
kubectl oc delete: -f= --filename=; -l= --selector=; -n= --namespace=; -k= --kustomize=; --all; --force; -o= --output=; -A --all-namespaces; --grace-period=; --dry-run=
kubectl oc apply: -f= --filename=; -n= --namespace=; -k= --kustomize=; -l= --selector=; -R --recursive; --force; --prune; --dry-run=; -o= --output=
kubectl oc get: -n= --namespace=; -o= --output=; -l= --selector=; -A --all-namespaces; -w --watch; -f= --filename=
terraform tofu apply: -auto-approve --auto-approve; -destroy --destroy; -var= --var=; -target= --target=
terraform tofu destroy: -auto-approve --auto-approve; -target= --target=
npm pnpm install: -g --global; -D --save-dev; -S --save; -E --save-exact; -f --force; -C=
npm pnpm publish: -f --force; --access=; --tag=; --dry-run; --otp=
pip pip3 install: -r= --requirement=; -e= --editable=; -U --upgrade; -i= --index-url=; -t= --target=; -c= --constraint=; -f= --find-links=; --user; --force-reinstall; -q --quiet
git push: -f --force +*; -d --delete :*; -n --dry-run; -u --set-upstream; -q --quiet; -v --verbose; -o= --push-option=; --repo=; --receive-pack= --exec=; --force-with-lease; --force-if-includes; --mirror; --all --branches; --tags; --follow-tags; --no-verify; --prune; --atomic; --signed; --thin; -4 --ipv4; -6 --ipv6
git clean: -f --force; -d; -x; -X; -n --dry-run; -q --quiet; -e= --exclude=; -i --interactive
git reset: --hard; --soft; --mixed; --merge; --keep; -q --quiet; -p --patch
git checkout: -f --force; -b=; -B=; -t --track; -q --quiet; -m --merge; -p --patch; --ours; --theirs; --orphan=; --detach -d; -l; --conflict=
git switch: -f --force --discard-changes; -c= --create=; -C= --force-create=; -d --detach; -t --track; -m --merge; -q --quiet; --orphan=
git restore: -W --worktree; -S --staged; -s= --source=; -p --patch; -q --quiet; --ours; --theirs; -m --merge
git branch: -D; -d --delete; -f --force; -m --move; -M; -c --copy; -C; -u= --set-upstream-to=; -a --all; -r --remotes; -v --verbose; -l --list; -q --quiet
git commit: -a --all; -m= --message=; -F= --file=; -n --no-verify; --amend; -C= --reuse-message=; -c= --reedit-message=; -t= --template=; -s --signoff; -S --gpg-sign; -e --edit; -v --verbose; -q --quiet; -p --patch; -o --only; -i --include; --no-edit; --allow-empty; --author=; --date=; --fixup=; --squash=
git tag: -d --delete; -f --force; -a --annotate; -m= --message=; -F= --file=; -s --sign; -u= --local-user=; -l --list; -n
git rebase: -i --interactive; -x= --exec=; --onto=; --root; --abort; --continue; --skip; -f --force-rebase --no-ff; -X= --strategy-option=; -s= --strategy=; --autosquash; --autostash; -r --rebase-merges; -q --quiet
git merge: -m= --message=; -s= --strategy=; -X= --strategy-option=; --no-ff; --ff-only; --squash; --abort; -n; -q --quiet; --no-verify
git pull: -r --rebase; -f --force; --ff-only; --no-rebase; -q --quiet; --autostash; -s= --strategy=; -X= --strategy-option=
git fetch: -f --force; -p --prune; -t --tags; --all; -a --append; -n --no-tags; -q --quiet; -j= --jobs=; --depth=; -u --update-head-ok
git stash: -u --include-untracked; -a --all; -k --keep-index; -m= --message=; -p --patch; -q --quiet
git add: -A --all --no-ignore-removal; -f --force; -p --patch; -u --update; -n --dry-run; -v --verbose; -i --interactive; -N --intent-to-add
git rm: -r; -f --force; -n --dry-run; --cached; -q --quiet
git worktree: -f --force; -b=; -B=; -d --detach; -n --dry-run
systemctl: -f --force; --now; --user; -q --quiet; -t= --type=; -p= --property=; -H= --host=; -M= --machine=; -n= --lines=; -o= --output=; -a --all
kill: -9 -KILL -SIGKILL; -15 -TERM -SIGTERM; -1 -HUP -SIGHUP; -s= --signal=; -l --list
killall pkill: -9 -KILL -SIGKILL; -f --full; -u= --euid= --user=; -s= --signal=; -x --exact; -g= --pgroup=; -P= --parent=; -t= --terminal=
crontab: -r; -e; -l; -u=; -i
apt apt-get install: -y --yes --assume-yes; -f --fix-broken; -t= --target-release=; -o= --option=; -q --quiet; -s --simulate --dry-run --just-print
apt apt-get remove: -y --yes --assume-yes; --purge; -o= --option=; -q --quiet; -s --simulate --dry-run --just-print
";

/// Programs whose lines are those of their verbs.
pub(crate) const VERBAL: &[&str] = &[
    "git",
    "docker",
    "podman",
    "kubectl",
    "oc",
    "terraform",
    "tofu",
    "npm",
    "pnpm",
    "pip",
    "pip3",
    "apt",
    "apt-get",
];
