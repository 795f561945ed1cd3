//go:build gendoc

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// With the build tag gendoc, the command writes its own man pages to a directory: go run
// -tags gendoc ./cmd/urlget DIR. So the command itself does not contain the package that makes
// them.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendoc DIR")
		os.Exit(exitUsage)
	}
	root := (&app{}).command()
	root.DisableAutoGenTag = true
	if err := writePages(root, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFile)
	}
}

// writePages writes a page for cmd and each of its subcommands.
func writePages(cmd *cobra.Command, dir string) error {
	for _, c := range cmd.Commands() {
		if err := writePages(c, dir); err != nil {
			return err
		}
	}
	header := &doc.GenManHeader{Section: "1", Source: "urlget " + programVersion(), Manual: "User Commands"}
	var page bytes.Buffer
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return err
	}
	text := page.String()
	sections := manSections
	if cmd.HasParent() {
		sections = "\n.SH EXIT STATUS\nAs that of \\fBurlget(1)\\fP, where ENVIRONMENT and FILES are too.\n"
	}
	if i := strings.Index(text, "\n.SH SEE ALSO"); i >= 0 {
		text = text[:i] + sections + text[i+1:]
	} else {
		text += sections
	}
	text = strings.Replace(text, "\n.SH EXAMPLE\n", "\n.SH EXAMPLES\n", 1)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
}

// manSections are what the help does not tell, in roff.
const manSections = `
.SH EXIT STATUS
The first failure decides; what comes after it is retrieved all the same.
.TP
\fB0\fP
All was retrieved.
.TP
\fB1\fP
A failure of no known class.
.TP
\fB2\fP
A mistake on the command line, or a URL that cannot be understood.
.TP
\fB3\fP
A local file or standard output.
.TP
\fB4\fP
The network: no such host, nobody listens, no answer in time.
.TP
\fB5\fP
TLS, or the key of an SSH server.
.TP
\fB6\fP
The login was refused.
.TP
\fB7\fP
The server broke its protocol, or its redirects lead nowhere.
.TP
\fB8\fP
The server refused: not found, not allowed, busy, broken.
.TP
\fB16\fP
The URL names nothing that can be retrieved like this.
.TP
\fB17\fP
Refused by the rules of safety; nothing was sent.
.TP
\fB18\fP
The transfer is not complete, the content has changed or is too large, or its checksum is wrong.
.TP
\fB130\fP
Interrupted.
.SH ENVIRONMENT
.TP
\fBhttp_proxy\fP, \fBhttps_proxy\fP, \fBftp_proxy\fP, \fBall_proxy\fP, \fBno_proxy\fP
Proxies, and hosts to reach without one.
.TP
\fBNETRC\fP
The netrc file, in place of ~/.netrc.
.TP
\fBNNTPSERVER\fP
The news server of URLs that name none.
.TP
\fBSSL_CERT_FILE\fP, \fBSSL_CERT_DIR\fP
Authorities that are trusted, in place of those of the system.
.TP
\fBSSH_AUTH_SOCK\fP
The SSH agent.
.TP
\fBNO_COLOR\fP
Anything in it turns colours off.
.TP
\fBPATH\fP
Is where the programs of experimental schemes are: urlget-x-NAME serves x-name.
.SH FILES
.TP
~/.netrc
Logins, by host.
.TP
~/.ssh/config, ~/.ssh/known_hosts
How SSH servers are reached and known.
.TP
~/.local/share/urlget/certificates
The certificates of Gemini servers.
.TP
NAME.part, NAME.part.json
An unfinished transfer, and what it is a part of. The same command goes on with it.
`
