# The formula of a tap; a release replaces the version and the four checksums by those of its SHA256SUMS.
class Lockgate < Formula
  desc "Gate between AI agents and their tools"
  homepage "https://github.com/lockgate/lockgate"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/lockgate/lockgate/releases/download/v#{version}/lockgate-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "https://github.com/lockgate/lockgate/releases/download/v#{version}/lockgate-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end
  on_linux do
    on_arm do
      url "https://github.com/lockgate/lockgate/releases/download/v#{version}/lockgate-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "https://github.com/lockgate/lockgate/releases/download/v#{version}/lockgate-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "lockgate"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/lockgate.bash" => "lockgate"
    zsh_completion.install "completions/lockgate.zsh" => "_lockgate"
    fish_completion.install "completions/lockgate.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/lockgate --version")
    assert_match "proved", shell_output("#{bin}/lockgate demo")
  end
end
