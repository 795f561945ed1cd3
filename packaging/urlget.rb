# A formula for Homebrew: brew install --HEAD packaging/urlget.rb
# A formula for a release also has the url and the sha256 of its source archive.
class Urlget < Formula
  desc "Retrieve URLs of any scheme: https, ftp, gopher, gemini, news, sftp and more"
  homepage "https://github.com/urlget/urlget"
  license "MIT"
  head "https://github.com/urlget/urlget.git", branch: "main"

  depends_on "go" => :build

  def install
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    (testpath/"a.txt").write "text"
    assert_equal "text", shell_output("#{bin}/urlget cat file://#{testpath}/a.txt")
  end
end
