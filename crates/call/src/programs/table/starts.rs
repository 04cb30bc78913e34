//! Plain starts of consoles, a line each: `PROGRAMS: OPTIONS [/ WORDS]`.
//!
//! With these options a program only says where it goes and how it looks: whatever runs in it is typed later. `-p=` has
//! a value, in the next word or glued to it; `*` is any option. Behind `/` stands what the first word may be that is no
//! option; none may stand there where the list is empty. Options that hold commands, or name files of commands, are
//! missing on purpose.

pub(crate) const STARTS: &str = "\
vim vi nvim view ex vimdiff gvim vim.basic vim.tiny vim.nox: -R -O -o -p -d -n -b -y --clean
nano pico micro hx helix kak joe mcedit: -l -w -B -m -i -v -E -R
ed: -E -p=
emacs: -nw -Q -q --no-window-system
ranger nnn lf mc vifm:
psql: -h= -U= -d= -p= -W -w -q -x --host= --username= --dbname= --port= --password --no-password
mysql mariadb: -h= -u= -p -p* -P= -D= -A --host= --user= --password --password= --port= --database= --protocol= --ssl
mongosh mongo: -u= -p= --host= --port= --username= --password= --authenticationDatabase= --tls
sqlite3 duckdb: -header -column -csv -json -box -line -readonly
sqlplus sqlcmd: -S= -U= -P= -d= -E
python python2 python3 pypy pypy3 ipython ipython3: -i -q -u -B -O -I -E -v -m=
node nodejs deno ts-node tsx: -i --interactive / repl
irb jruby pry ruby perl:
php: -a
lua luajit R r julia tclsh wish erl groovy scala elixir swift jshell kotlin guile racket sbcl clojure ocaml: -i -q
bpython ptpython ghci maxima gp sage utop hy coffee iex octave octave-cli clisp ecl scheme dc gnuplot expect: -q -i
bash sh zsh dash ash ksh mksh rbash yash fish csh tcsh pwsh powershell elvish nu xonsh: -i -l --login --norc --noprofile -NoProfile -NoLogo /
ssh: -p= -i= -l= -J= -L= -D= -b= -c= -m= -o= -A -a -C -f -g -K -k -M -n -q -T -t -v -X -x -Y -4 -6
autossh: -M= -p= -i= -l= -L= -D= -o= -A -C -f -q -T -t -v -X -Y
mosh: -p= --port= -4 -6 -a -n
sftp: -P= -p= -i= -l= -o= -C -q -v -r
ftp lftp telnet: -n -i -v -p= -P= -u= -l=
gdb lldb: -q -quiet --quiet -silent -tui --tui -p= -pid= --args -args -n=
docker podman nerdctl kubectl oc docker-compose podman-compose vagrant gcloud machinectl toolbox distrobox lxc incus: *
aws: * / ssm ecs
rails heroku fly flyctl cabal stack sbt lein dotnet bundle jupyter: -e= --environment= -a= --app= / console c dbconsole repl ghci fsi exec
poetry pipenv hatch pixi railway: / shell
nix: / repl
nix-shell: -p= --pure /
tmux: -s= -t= -n= -c= -L= -S= -u -2 -A -D -d -r / new new-session attach attach-session a at
screen: -S= -r -R -d -D -x -m -U -L -dr -dR -DR -xr
zellij: -s= / attach a
dtach abduco byobu:
minicom picocom: -D= --device= -b= --baud= -s
alacritty kitty xterm gnome-terminal konsole: /
at batch: -m -q= -t= -v
script: -a -q -f
socat:
";
