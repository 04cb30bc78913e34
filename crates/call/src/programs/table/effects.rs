//! What programs do to the world, a line each: `PROGRAMS: EFFECT [of TARGET] [if WORDS] [unless WORDS]`.
//!
//! All words of `if` must be there, and none of `unless`. `^verb` is the first word that is no option; another plain word
//! may stand anywhere behind the one before it; `-f` is an option, also among other letters, and `--force` one that may
//! be cut short; `~drop_table` is text within a word, whatever its case; `=help` is a word anywhere, never in doubt; `<` is
//! something to read that the script gives it;
//! `a|b` is either. A target is where the effect happens: `operands`, `first`, `rest`, `last`, `here`, `host`, `remote`,
//! or a path. Without one there is no place. A program may stand in many lines, and what is in none of them does nothing
//! of the kind. The line of `*` is for programs in no table.

pub(crate) const EFFECTS: &str = "\
rm rmdir unlink trash trash-put rimraf del srm wipe: deletion of operands
shred: deletion of operands
truncate: deletion of operands unless +*
dd: deletion of of if =if=/dev/zero|=if=/dev/urandom|=if=/dev/random|=if=/dev/null of=*
dd: write of of if of=*
find fd fdfind: deletion of first if -delete
rsync: deletion of last if --delete|--delete-before|--delete-after|--delete-during|--delete-excluded|--del|--remove-source-files unless --dry-run|-n
tar: deletion of operands if --remove-files
robocopy: deletion of last if /MIR|/PURGE
mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.f2fs mke2fs mkdosfs newfs: deletion of /dev
wipefs blkdiscard mkswap: deletion of /dev unless -n|--no-act
fdisk sfdisk cfdisk gdisk: deletion of /dev unless -l|--list|-V|--version|-s|--dump|-d
sgdisk: deletion of /dev unless -p|--print|-i|--info|-b|--backup|-v|--verify
parted: deletion of /dev if mklabel|rm|mkpart|mktable|resizepart
lvremove vgremove pvremove: deletion of /dev
zpool zfs: deletion if ^destroy|labelclear
zfs: deletion if ^rollback -r|-R
btrfs: deletion if ^subvolume delete
mdadm: deletion of /dev if --zero-superblock|--remove|--stop
cryptsetup: deletion of /dev if luksFormat|erase|luksErase|luksKillSlot
hdparm: deletion of /dev if --security-erase|--security-erase-enhanced|--trim-sector-ranges
nvme: deletion of /dev if ^format|sanitize|write-zeroes
badblocks: deletion of /dev if -w|-n
diskutil: deletion of /dev if ^eraseDisk|eraseVolume|partitionDisk|secureErase|zeroDisk|randomDisk|reformat
diskutil: deletion of /dev if ^apfs delete*|erase*
diskpart: deletion of /dev
format: deletion of /dev if c:|C:|d:|/q|/Q|/fs*

git: deletion of here if ^clean -f|--force unless -n|--dry-run
git: deletion of here if =clean.requireForce=*|=clean.requireforce=* clean unless -n|--dry-run
git: deletion of here if ^reset --hard|--merge
git: deletion of here if ^checkout|switch -f|--force|--discard-changes
git: deletion of here if ^checkout --ours|--theirs|--pathspec-from-file
git: deletion of here if ^checkout --
git: deletion of here if ^checkout .*|:*|*/.
git: deletion of here if ^restore -W|--worktree
git: deletion of here if ^restore unless -S|--staged
git: deletion of here if ^restore --source
git: deletion of here if ^stash drop|clear
git: deletion of here if ^branch -D
git: deletion of here if ^branch -f|--force
git: deletion of here if ^worktree remove -f|--force
git: deletion of here if ^submodule deinit -f|--force|--all
git: deletion of here if ^read-tree -u --reset
git: deletion of here if ^checkout-index -f|--force
git: history-change if ^push -f|--force|--mirror|--prune|--force-with-lease|--force-if-includes
git: history-change if ^push +*
git: history-change if ^push -d|--delete
git: history-change if ^push :*
git: history-change if ^update-ref -d|--stdin|--no-deref
git: history-change if ^reflog expire|delete
git: history-change if ^gc --prune=now|--prune=all
git: history-change if ^prune unless -n|--dry-run
git: history-change if ^filter-branch|filter-repo|replace
git: history-change if ^symbolic-ref -d|--delete
git: history-change if ^lfs prune
git: history-change if ^send-pack --force|--mirror
git-filter-repo bfg: history-change
git: publication of remote if ^push|send-pack
git: upload of remote if ^push|send-pack
git: download of remote if ^clone|fetch|pull|ls-remote
gh glab hub: deletion if delete|remove-all|delete-* unless =help|=search
gh: deletion if ^secret|variable|cache remove|rm
gh glab: deletion if ^repo archive
gh: publication if ^release create|upload|edit
glab: publication if ^release create|upload
gh: publication if ^pr merge
gh glab: history-change if ^repo edit --visibility
gh glab: upload if ^gist|snippet create
gh: secret-read if ^auth token
gh: secret-read if ^auth status -t|--show-token
gh glab: deletion if ^api -X|--method DELETE
gh glab: deletion if ^api -XDELETE|--method=DELETE
gh: disruption if ^workflow|run disable|cancel
gh: elevation if ^secret|variable set
gh: message if ^issue|pr comment|create|close|review

kubectl oc k: deletion if ^delete unless --dry-run
kubectl oc: disruption if ^drain|cordon|taint|evict
kubectl oc: disruption if ^scale --replicas=0
kubectl oc: disruption if ^scale --replicas 0
kubectl oc: deletion if ^replace --force
kubectl oc: elevation if ^create clusterrolebinding|rolebinding
kubectl oc: secret-read if ^edit secret|secrets|secret/*|secrets/*
kubectl oc: secret-read if ^get secret|secrets|secret/*|secrets/*|secrets,*|*,secrets -o|--output|--template
kubectl oc: upload if ^cp * *:*
kubectl oc: secret-read if ^cp ~secret|~credential|~passw|~token
helm: deletion if ^uninstall|delete|del|un unless --dry-run
helm: disruption if ^rollback unless --dry-run
helm oras: publication if ^push
kustomize: deletion if ^delete
terraform tofu pulumi cdk terragrunt cdktf sam serverless sls copilot: deletion if ^destroy|remove|delete
terraform tofu terragrunt: deletion if ^apply -destroy|--destroy
terraform tofu terragrunt: disruption if ^apply -auto-approve|--auto-approve
terraform tofu terragrunt: deletion if ^state rm
terraform tofu terragrunt: deletion if ^workspace delete
terraform tofu terragrunt: disruption if ^taint|force-unlock
terragrunt: deletion if run-all destroy
pulumi: deletion if ^stack rm
pulumi: disruption if ^up --yes|-y
ansible: deletion if -a|--args ~rm_-
vagrant: deletion if ^destroy
vagrant: deletion if ^box remove
multipass: deletion if ^delete|purge
virsh: deletion if ^destroy|undefine|vol-delete|pool-destroy|snapshot-delete|pool-delete
VBoxManage vboxmanage: deletion if ^unregistervm --delete
lxc incus: deletion if ^delete|rm
docker podman nerdctl: deletion if ^rm|rmi
docker podman nerdctl: disruption if ^kill
docker podman nerdctl: deletion if prune
docker podman nerdctl: deletion if ^volume|container|image|network|swarm|service|stack|secret|config|node|context|pod|machine rm|remove|reset
docker podman: deletion if ^compose down -v|--volumes|--rmi
docker podman: deletion if ^compose rm
docker-compose podman-compose: deletion if ^down -v|--volumes|--rmi
docker-compose podman-compose: deletion if ^rm
docker podman: disruption if ^swarm leave
docker podman: elevation if ^run --privileged
docker podman: elevation if ^run|create --pid=host|--net=host|--userns=host|--cap-add=ALL|--cap-add=SYS_ADMIN
docker podman: elevation if ^run|create --pid|--cap-add host|ALL|SYS_ADMIN
docker podman: elevation if ^run|create -v|--volume|--mount /:*|/etc:*|/root:*|/var/run/docker.sock*|/run/docker.sock*|~source=/,|~src=/,
docker podman: elevation if ^run|create --volume=/:*|-v/:*|--mount=type=bind,source=/,*
docker podman buildah crane nerdctl: publication if ^push
docker podman: publication if ^compose push
docker podman: publication if ^buildx|build --push
skopeo: publication if ^copy docker://*
docker podman: deletion if ^system reset
crictl: deletion if ^rm|rmi|rmp

aws: deletion if rm|rb|delete|terminate|purge|delete-*|terminate-*|deregister-*|purge-*|remove-*|batch-delete-*|reset-*|disable-*|revoke-*|detach-*|schedule-key-deletion|abort-*|release-address unless --dryrun|--dry-run|help
aws: disruption if stop-*|reboot-*|scale-in*|suspend-*
aws: deletion if ^s3 sync --delete unless --dryrun
aws: upload if ^s3api put-object|put-bucket-policy|put-bucket-acl|put-object-acl
aws: secret-read if ^secretsmanager get-secret-value|batch-get-secret-value
aws: secret-read if ^ssm get-parameter|get-parameters|get-parameters-by-path --with-decryption
aws: secret-read if ^configure get|export-credentials
aws: secret-read if ^iam create-access-key
aws: secret-read if ^kms decrypt
aws: elevation if ^iam create-user|attach-*|put-*|add-*|update-assume-role-policy|create-policy-version|set-default-policy-version|create-login-profile|update-login-profile|create-access-key
aws: elevation if authorize-security-group-*|put-bucket-policy|put-bucket-acl|add-permission|modify-*-attribute
aws: message if ^ses|sns|sesv2|pinpoint send-*|publish*
aws: disruption if ^cloudformation update-stack|execute-change-set|deploy
aws: disruption if update-service|update-auto-scaling-group --desired-count|--desired-capacity 0
gcloud gsutil bq az doctl fly flyctl heroku linode-cli hcloud scw vultr-cli ibmcloud oci openstack exo civo eksctl kops minikube kind k3d netlify vercel wrangler supabase railway render firebase amplify eb cf dokku ddev platform upsun turso neonctl planetscale pscale confluent upstash convex: deletion if rm|rb|del|delete|destroy|purge|terminate|remove|deprovision|delete-*|terminate-*|*:delete|*:destroy|*:remove|*:purge|apps:destroy|functions:delete|hosting:disable|firestore:delete|database:remove|storage:delete unless --dry-run|--what-if
vercel: deletion if ^rm|remove
fly flyctl: deletion if ^apps|machine|volumes destroy|remove|delete
heroku: deletion if pg:reset|pg:killall|apps:destroy|addons:destroy|repo:reset|pg:copy
heroku: disruption if ps:stop|maintenance:on|config:unset|releases:rollback|rollback|ps:kill
heroku: disruption if ps:scale *=0
heroku: secret-read if ^config|config:get|pg:credentials:url|auth:token
supabase: deletion if ^db reset
firebase wrangler railway surge: publication if ^deploy|publish|up
vercel netlify now: publication if --prod|--production
gcloud: publication if deploy
fly flyctl: publication if ^deploy
eb sam serverless sls cdk amplify: publication if ^deploy
gcloud: secret-read if print-access-token|print-identity-token|access
gcloud: elevation if add-iam-policy-binding|set-iam-policy
gcloud: elevation if keys create
gcloud az doctl: disruption if stop|deallocate|restart|reset|suspend
gsutil: upload if ^cp|mv|rsync $gs://*
gsutil: deletion if ^rsync -d
gsutil: elevation if ^iam|acl|defacl ch|set
gcloud: upload if ^storage cp|mv|rsync $gs://*
bq: deletion if ^rm
az: secret-read if ^keyvault secret show|download
az: secret-read if ^account get-access-token
az: secret-read if ^storage account keys
az: upload if ^storage blob|file|fs upload|upload-batch|copy
az: elevation if ^role assignment create
az: elevation if ^ad sp|app|user create*|credential
az: deletion if ^group delete
vault: secret-read if ^read
vault: secret-read if ^kv get
vault: deletion if ^delete
vault: deletion if ^kv delete|destroy
op bw pass lpass gopass: secret-read if ^read|get|show|export
op: secret-read if ^item|document get
security: secret-read if ^find-generic-password|find-internet-password|dump-keychain|export
secret-tool: secret-read if ^lookup|search
consul: deletion if ^kv delete
etcdctl: deletion if ^del
kafka-topics kafka-topics.sh: deletion if --delete
kafka-consumer-groups kafka-consumer-groups.sh: deletion if --delete|--reset-offsets
rabbitmqctl: deletion if ^delete_queue|delete_vhost|delete_user|reset|force_reset|purge_queue|stop_app|stop
rabbitmqadmin: deletion if ^delete|purge
nomad: deletion if ^job stop
nats: deletion if rm|purge|del

psql pgcli mysql mariadb mycli sqlite3 sqlcmd cockroach clickhouse-client clickhouse cqlsh snowsql snow duckdb sqlplus bq usql trino presto beeline hive impala-shell dolt litecli isql db2 athenacli: deletion if ~drop_table|~drop_database|~drop_schema|~drop_view|~drop_index|~drop_user|~drop_role|~drop_keyspace|~drop_column|~drop_owned|~drop_materialized|~drop_collection|~truncate|~delete_from|~vacuum_full|~flush_tables|~drop_function|~drop_trigger|~drop_sequence|~drop_extension|~drop_type|~drop_if
psql mysql mariadb sqlcmd cockroach: elevation if ~grant_|~alter_user|~alter_role|~create_user|~superuser|~identified_by
psql mysql mariadb sqlcmd: execution if ~to_program|~xp_cmdshell|~into_outfile|~load_file|~from_program|~pg_read_file|~lo_export
mongo mongosh: deletion if ~dropdatabase|~.drop(|~deletemany|~deleteone|~.remove(|~dropindex|~dropuser|~findoneanddelete|~dropcollection
mongorestore: deletion if --drop
redis-cli valkey-cli keydb-cli: deletion if flushall|flushdb|FLUSHALL|FLUSHDB|~flushall|~flushdb
redis-cli valkey-cli keydb-cli: deletion if del|DEL|unlink|UNLINK
redis-cli valkey-cli keydb-cli: disruption if shutdown|SHUTDOWN
redis-cli valkey-cli keydb-cli: disruption if config|CONFIG set|SET
dropdb dropuser pg_dropcluster: deletion
pg_restore: deletion if -c|--clean
pg_resetwal pg_resetxlog: deletion
mysqladmin mariadb-admin: deletion if drop|flush-*
mysqladmin mariadb-admin pg_ctl pg_ctlcluster: disruption if stop|shutdown|immediate
mysqldump pg_dump pg_dumpall mongodump: read
influx: deletion if delete|~drop_
prisma: deletion if migrate reset
prisma: deletion if db push --force-reset|--accept-data-loss
prisma: deletion if ~drop_
rails rake bin/rails bin/rake: deletion if db:drop|db:reset|db:drop:*|db:purge|db:migrate:reset|db:truncate_all|db:schema:load
artisan: deletion if migrate:fresh|migrate:reset|migrate:refresh|db:wipe
php: deletion if ^artisan|*/artisan migrate:fresh|migrate:reset|migrate:refresh|db:wipe
django-admin manage.py: deletion if flush|reset_db|sqlflush:run
python python3: deletion if ^manage.py|*/manage.py flush|reset_db
sequelize sequelize-cli knex typeorm mikro-orm: deletion if db:drop|schema:drop|db:migrate:undo:all|migrate:rollback|schema:drop|*drop*|schema:fresh
drizzle-kit: deletion if ^drop|push --force
mix: deletion if ecto.drop|ecto.reset|ecto.rollback
mix: publication if hex.publish
flyway liquibase: deletion if clean|drop-all|dropAll|rollback*|undo
dbt: deletion if --full-refresh

npm pnpm yarn bun: publication if ^publish|unpublish|deprecate unless --dry-run
npm pnpm yarn: publication if ^npm publish
npm pnpm: publication if ^dist-tag add|rm
npm pnpm: elevation if ^owner|access|team|token add|rm|create|grant|revoke|set|public|restricted|delete|remove
npm: secret-read if ^token create|list
npm: secret-read if ^config get|list _authToken|//*
lerna np changeset release-it semantic-release standard-version nx: publication if ^publish|release unless --dry-run
npx pnpx bunx: publication if ^semantic-release|np|release-it unless --dry-run
cargo uv poetry flit hatch pdm vsce ovsx dart flutter rye maturin jsr deno melos: publication if ^publish unless --dry-run|-n
dart flutter: publication if ^pub publish
cargo: publication if ^yank|owner
cargo: publication if ^release
twine: publication if ^upload|register
gem: publication if ^push|yank
dotnet: publication if ^nuget push
nuget: publication if ^push
mvn mvnw: publication if deploy|release:perform|deploy:deploy-file
gradle gradlew: publication if publish|publishPlugins|uploadArchives|publishToMavenCentral|*:publish
sbt: publication if publish|publishSigned|release
composer pod: publication if ^trunk push
conan anaconda: publication if ^upload
goreleaser: publication if ^release unless --snapshot|--skip-publish
fastlane: publication if deliver|release|supply|upload_to_app_store|pilot
python python3: publication if -m twine upload
python python3: publication if ^setup.py upload
twine jfrog: publication if upload
huggingface-cli hf: publication if ^upload|repo
npm pnpm yarn bun: install if ^install|i|add|ci|update
npm: install if ^install -g|--global
pip pip3 pipx uv poetry conda mamba gem cargo go apt apt-get dnf yum apk pacman brew snap flatpak zypper port choco winget scoop: install if ^install|add|get|sync
apt apt-get aptitude: deletion if ^purge|autopurge unless -s|--dry-run|--simulate|--just-print
apt apt-get aptitude dnf yum zypper flatpak choco winget emerge: deletion if ^autoremove|erase|remove|uninstall|rm -y|--yes|--assume-yes|--assumeyes|--purge|--force|--force-yes|-f|--non-interactive|--noninteractive|-q|--allow-remove-essential unless -s|--dry-run|--simulate|--just-print
apk snap brew port scoop: deletion if ^purge|remove|uninstall|del|rm --purge|--force|-f|--zap|-r|--rdepends|--ignore-dependencies
xbps-remove: deletion if -y|--yes|-F|--force-revdeps
pip pip3 gem: deletion if ^uninstall -y|--yes|-a|-x|--force|-I|--all
pipx: deletion if ^uninstall-all
dpkg: deletion if -P|--purge|-r|--remove =--force-*
rpm: deletion if -e|--erase --nodeps|--noscripts|--allmatches
pacman yay paru: deletion if -R|--remove --noconfirm|-c|--cascade|-d|--nodeps|-n|--nosave
conda mamba: deletion if ^env remove
conda mamba: deletion if ^remove --all
nix-collect-garbage: deletion if -d|--delete-old

curl: upload of host if -d|--data|--data-raw|--data-binary|--data-urlencode|--data-ascii|--json|-F|--form|--form-string|-T|--upload-file
curl: upload of host if -X|--request POST|PUT|PATCH|post|put|patch
curl: upload of host if -XPOST|-XPUT|-XPATCH|--request=POST|--request=PUT|--request=PATCH
curl: download of host
curl: write of /etc if -o|--output /etc/*|/usr/*|/bin/*
wget: upload of host if --post-data|--post-file|--body-data|--body-file
wget: upload of host if --method POST|PUT|PATCH
wget: upload of host if --method=POST|--method=PUT|--method=PATCH
wget aria2c axel lftpget: download of host
http https xh: upload of host if ^POST|PUT|PATCH|post|put|patch
http https xh: upload of host if *=*|*:=*|*@* unless http*|*==*|*?*
ncftpput: upload of remote
ftp tftp lftp: upload of remote if <
tftp: upload of remote if -c put
lftp: upload of remote if -c|-e|-f
nc ncat netcat socat telnet: upload of remote if < unless -z|-zv|-vz|-h|--help|-zvn|-vzn|-zw*|-znv
nc ncat netcat: upload of remote if -l -p
nc ncat netcat nc.openbsd nc.traditional: upload of remote if -e|-c|--exec|--sh-exec|--lua-exec
socat: upload of remote if ~exec:|~system:|~file:|~open:|~gopen:|~pty|~shell:
ssh autossh: upload of remote if -R|-w
sshpass: secret-read
rclone: upload if ^copy|sync|move|copyto|moveto * *:* unless --dry-run|-n
rclone: upload if ^rcat|bisync|copyurl unless --dry-run|-n
rclone: deletion if ^delete|purge|deletefile|cleanup|rmdir|rmdirs
restic borg: deletion if ^forget|prune|delete
mc s3cmd s4cmd s5cmd: deletion if ^rm|rb|del|delete
mc s3cmd s4cmd s5cmd: upload if ^cp|mirror|put|sync|mv|pipe
croc wormhole: upload if ^send
ngrok cloudflared localtunnel lt bore: upload if ^http|tcp|tunnel|--port|local
mail mailx mutt neomutt s-nail: message if ^*
mail mailx mutt neomutt s-nail: upload if ^*
mail mailx mutt neomutt s-nail: upload if <
sendmail msmtp ssmtp swaks: message
sendmail swaks: upload
msmtp ssmtp: upload if <
python python3: upload if -m smtplib|smtpd
smbclient: upload if -c ~put
tcpdump: read

shutdown reboot halt poweroff: disruption unless -c|--help|--show|-k
init telinit: disruption if ^0|6|1|s|S
systemctl: disruption if ^stop|disable|mask|kill|poweroff|reboot|halt|suspend|hibernate|rescue|emergency|isolate|kexec|revert|set-default unless --user|--help
service rc-service: disruption if stop
sv: disruption if ^stop|down|exit
launchctl: disruption if ^unload|remove|bootout|stop|disable|kill
launchctl: elevation if ^load|bootstrap|enable|submit
sc sc.exe: disruption if ^stop|delete
supervisorctl pm2: disruption if ^shutdown|kill
pm2: deletion if ^delete|kill
killall5: disruption
pkill: disruption if -u|-U|--euid
pkill: disruption if .|.*|init|systemd|sshd
iptables ip6tables: disruption if -F|--flush|-X|--delete-chain|-P|--policy|-A|--append|-I|--insert|-D|--delete|-R|--replace
iptables-restore ip6tables-restore: disruption
nft: disruption if ^flush|delete
ufw: disruption if ^disable|reset|delete
ufw: disruption if ^default allow
firewall-cmd: disruption if --panic-on|--remove-service|--complete-reload
setenforce: disruption if 0|Permissive|permissive
auditctl: disruption if -D|-e
swapoff: disruption if -a
sysctl: disruption if -w|--write
ifconfig: disruption if =down
crontab: deletion if -r
at batch: execution
systemd-run: execution
systemctl: elevation if ^enable --now
systemctl: elevation if ^link|set-environment|import-environment
systemctl: elevation if ^enable /*|./*|~/*
nmap: disruption if --script *vuln*|*exploit*|*brute*|*dos*
nmap: disruption if =--script=*vuln*|=--script=*exploit*|=--script=*brute*|=--script=*dos*
masscan zmap: disruption
npm pnpm yarn bun npx: elevation if --registry unless =--registry=http://localhost*|=http://localhost*
npm pnpm yarn: elevation if ^config set =registry|=registry=*
pip pip3 uv pipx poetry: elevation if -i|--index-url|--extra-index-url|--trusted-host|--find-links unless =https://download.pytorch.org/*|=--index-url=https://download.pytorch.org/*
pip pip3 npm pnpm yarn gem pipx uv brew rpm dnf yum: elevation if =http://*|=git+http://* unless =http://localhost*|=http://127.0.0.1*
gem: elevation if ^sources -a|--add
brew: elevation if ^tap */*
history: deletion if -c|-d
journalctl: deletion if --vacuum-time|--vacuum-size|--vacuum-files
logrotate: deletion if -f|--force
wevtutil: deletion if ^cl
vssadmin: deletion if ^delete
setfacl: elevation if -R|-m o:*|o::*|other:*|other::*|*:nobody:*
tmutil: deletion if ^delete|disable|deletelocalsnapshots
csrutil spctl: disruption if ^disable|--master-disable|--global-disable
defaults: deletion if ^delete
nvram: disruption if -c|-d
bcdedit: disruption
efibootmgr: disruption if -B|-b
grub-install update-grub: disruption
userdel groupdel deluser delgroup: deletion
useradd adduser groupadd: elevation
usermod gpasswd groupmod: elevation
passwd chpasswd: elevation unless -S|--status
visudo: elevation unless -c|--check
chsh: elevation unless -l|--list-shells
setcap: elevation
su: elevation
pkexec: elevation
chmod: elevation of rest if 777|0777|a+rwx|ugo+rwx|o+w|a+w|+s|u+s|g+s|ug+s|o+rwx|666|0666|4???|04???|2???|6???|a=rwx|a+rw|ugo+w|go+w|o+rw
xmrig minerd cpuminer ethminer: disruption
gpg: deletion if --delete-secret-keys|--delete-secret-key|--delete-secret-and-public-key|--delete-keys|--delete-key
gpg: secret-read if --export-secret-keys|--export-secret-subkeys|--export-secret-key
keytool: deletion if -delete
telegram-send: message
Remove-Item ri rd erase: deletion of operands
Format-Volume Clear-Disk: deletion of /dev
Stop-Computer Restart-Computer: disruption
git: deletion of here if ^rm -f|--force unless --cached|-n|--dry-run
alembic flask: deletion if downgrade base
aws: upload if ^s3 cp|mv|sync * s3://* unless --dryrun
mv: deletion of first if $/dev/null
cp: deletion of last if ^/dev/null
scp: upload of remote if $*:*
sftp: upload of remote if -b
sftp: upload of remote if <
rsync: upload of remote if $*:*|$rsync://*
ssh mosh: upload of remote if <
curl: upload of host if -X|--request DELETE|delete
curl: upload of host if -XDELETE|-Xdelete|--request=DELETE
wget: upload of host if --method DELETE
wget: upload of host if --method=DELETE
http https xh: upload of host if ^DELETE|delete
dig nslookup host drill ping: upload if ~$(|~` unless =$(hostname)|=`hostname`
kill: disruption if =-9|=-KILL|=-SIGKILL|=-s =-1
kill: disruption if =1|=-1
killall: disruption if -9|-KILL|-SIGKILL
umount: disruption if -a
ip: disruption if ^link set down
ip: disruption if ^route|addr del|delete|flush
rmmod: disruption
modprobe: disruption if -r
crontab: disruption if ^* unless -l|-e
sudo doas: elevation if -i|-s|--login|--shell
chattr: disruption if =-i|=-a|=-ia|=-ai
chmod: disruption of rest if 000|0000|a-rwx
chown chgrp: write of rest if -R|--recursive
curl: upload of host if @*
curl wget ssh nc ncat telnet: upload of host if ~$(cat_|~$(<|~$(base64|~$(env|~$(printenv|~$(whoami|~$(hostname|~$(id|~$(tar_|~$(gzip|~$(xxd|~$(head_|~$(grep|~$(uname|~$(ls|~$(history|~$(find|~$(sed|~$(awk|~`cat_|~`whoami|~`hostname|~`env|~`id`|~`base64
curl wget: upload of host if ~=$api|~=${api|~=$secret|~=${secret|~=$token|~=${token|~=$aws|~=${aws|~=$pass|~=${pass|~=$password|~=$github|~=$openai|~=$anthropic|~=$database
osascript: disruption if ~shut_down|~restart|~empty_trash
unset: disruption if =HISTFILE|=HISTSIZE
export declare typeset: disruption if =HISTFILE=*|=HISTSIZE=0|=HISTFILESIZE=0
set: disruption if +o history
ln: deletion of last if ^/dev/null
git: elevation if ^config core.hooksPath|core.hookspath|core.sshCommand|core.sshcommand|core.fsmonitor|~insteadof
git: elevation if ^config -e|--edit --system
gh: elevation if ^ssh-key|gpg-key add
gh glab: publication if ^api -X|--method POST|PUT|PATCH
gh: publication if ^api -XPOST|-XPUT|-XPATCH|--method=POST|--method=PUT|--method=PATCH
gh: publication if ^workflow run
gh: publication if ^repo create --public
kubectl oc: disruption if ^rollout undo|restart|pause
kubectl oc: elevation if ^apply|create|replace http://*|https://*
kubectl oc: disruption if ^label|annotate --all
aws: disruption if change-resource-record-sets|send-command|update-function-code|update-function-configuration|modify-db-*|put-bucket-lifecycle*|put-public-access-block
aws: payment if run-instances|purchase-*|request-spot-*
stripe: payment if charges|payment_intents|refunds|payouts|transfers|subscriptions|invoices create|capture|confirm|pay
stripe: deletion if delete|cancel|roll
ansible-playbook: disruption unless --check|-C|--syntax-check|--list-tasks|--list-hosts|--list-tags|--version
ansible: disruption if -a|--args -b|--become
npm pnpm yarn bun: publication if ^run release|publish|deploy
yarn pnpm bun: publication if ^release|deploy
make just task: publication if ^deploy|release|publish
security: deletion if ^delete-*
networksetup: disruption if -set*
scutil: disruption if --set
pmset: disruption if ^sleepnow|shutdown
insmod kexec: elevation
msfconsole msfvenom mimikatz hydra medusa responder: elevation
tcpdump tshark dumpcap: secret-read if -w|-A|-X unless -r|--read-file|-D|--list-interfaces|--help|--version
ettercap: secret-read
fallocate truncate: disruption if *00G|*0T|*00g|*0t
python python3: upload if -m =http.server =/|=/etc|=/home|=/root|=/home/*
mount: elevation if -o|--options ~remount
mount: elevation if --bind|-B|--rbind ^/
socat: disruption if ~haproxy.sock
nginx: disruption if -s stop|quit
dmsetup: deletion if ^remove|remove_all|wipe_table
ssh-add: deletion if -D
nsupdate: disruption
kafka-acls kafka-acls.sh: deletion if --remove
kafka-configs kafka-configs.sh: deletion if --delete-config
azcopy: deletion if ^remove|rm
azcopy: deletion if --delete-destination=true|--delete-destination
azcopy: upload if ^copy|cp|sync
databricks: deletion if rm|destroy|delete|purge|permanent-delete|delete-*
kamal: deletion if remove|reboot
kamal: publication if ^deploy|redeploy|rollback
deck: deletion if reset
deck: disruption if sync
splunk: deletion if remove|delete|clean
modal: disruption if ^app stop
modal: deletion if delete|rm
atmos: deletion if destroy|clean
atmos: disruption if deploy|apply
circleci: deletion if delete|remove-secret|remove-*
doppler chamber: secret-read if ^secrets get|download
chamber: secret-read if ^read|export|env
doppler: deletion if delete
velero: deletion if delete
adb: deletion if ^uninstall
adb: disruption if ^reboot
fastboot: deletion if ^erase|format|flashall|wipe
heroku: publication if ^container:release|pipelines:promote
sendmail: upload of remote
sed gsed perl: write of rest if -i|--in-place
chmod chown chgrp: write of rest
chmod chown chgrp: write of last
rsync: write of last
helm: disruption if ^upgrade --force|--reset-values unless --dry-run
kubectl oc: disruption if ^apply --force unless --dry-run
az: deletion if cancel|clear|reset-all|untag
az: deletion if --http-method DELETE
aws: deletion if unsubscribe
aws: deletion if start-query-execution ~drop_|~delete_from|~truncate
aws: elevation if put-secret-value|update-secret
gcloud: deletion if undeploy
borg: deletion if ^compact|recreate|break-lock
diskutil: deletion of /dev if ^mergePartitions|splitPartition
haproxy: disruption if -st|-sf
java: deletion if -jar *jenkins-cli* delete-*
gitlab-rails gitlab-rake: disruption
kafka-delete-records kafka-delete-records.sh: deletion
grafana-cli: deletion if uninstall|remove
algolia: deletion if delete|clear
ldcli: deletion if delete|archive
deno: deletion if ^eval ~remove
nats op velero: deletion if delete|uninstall|archive
unleash: deletion if archive|delete
pulumi: deletion if ^state delete
pulumi: disruption if ^cancel
pulumi: disruption if ^refresh --yes|-y
snow: deletion if drop|teardown|remove
supabase: deletion if ^secrets unset
supabase: deletion if ^stop --no-backup
supabase: disruption if push|down
vault: disruption if disable|revoke
vault: deletion if delete
restic: deletion if ^key remove
restic: deletion if ^unlock --remove-all
rclone: deletion if ^dedupe
redis-cli valkey-cli keydb-cli: disruption if DEBUG|debug
terraform tofu terragrunt: disruption if ^state mv|push|replace-provider
gitlab-runner: deletion if ^unregister
wrangler: disruption if rollback
install: elevation if -m|--mode 4???|04???|2???|6???
osascript: deletion if ~to_delete|~delete_every
kubectl oc: elevation if ^edit|patch clusterrole|clusterrolebinding|role|rolebinding|clusterrole/*|clusterrolebinding/*
*: deletion if delete|destroy|purge|terminate|wipe|nuke|delete-*|destroy-*|*:delete|*:destroy unless --dry-run|--help|-h|help
openssl: upload of host if ^s_client -quiet
dmesg: deletion if -C|-c|--clear|--read-clear
docker podman nerdctl: disruption if ^stop|kill|restart =$(*|=`*
curl wget http https xh: secret-read if ~169.254.169.254|~metadata.google.internal|~100.100.100.200|~169.254.170.2|~metadata.azure
printenv: secret-read if ~secret|~token|~passw|~credential|~api-key|=*KEY*
env: secret-read if ~secret|~token|~passw|~credential
echo printf: secret-read if =$*SECRET*|=$*PASSWORD*|=$*PRIVATE_KEY*|=$*API_KEY*|=$*_TOKEN|=${*SECRET*|=${*PASSWORD*|=${*API_KEY*|=${*_TOKEN}
";
