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
	"github.com/spf13/pflag"
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
	text := withOptions(page.String(), cmd)
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

// withOptions replaces the options of a page by those in their groups, as --help has them.
func withOptions(text string, cmd *cobra.Command) string {
	i := strings.Index(text, "\n.SH OPTIONS\n")
	if i < 0 {
		return text
	}
	rest := ""
	if j := strings.Index(text[i+1:], "\n.SH "); j >= 0 {
		rest = text[i+1+j:]
		for strings.HasPrefix(rest, "\n.SH OPTIONS INHERITED") {
			rest = rest[1:]
			rest = rest[max(strings.Index(rest, "\n.SH "), 0):]
		}
	}
	var b strings.Builder
	b.WriteString(text[:i] + "\n.SH OPTIONS\n")
	for _, g := range groupsOf(cmd.Flags()) {
		fmt.Fprintf(&b, ".SS %s\n", g.title)
		g.flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			name := `\fB\-\-` + roff(f.Name) + `\fP`
			if f.Shorthand != "" {
				name = `\fB\-` + f.Shorthand + `\fP, ` + name
			}
			if value != "" && f.Value.Type() != "bool" {
				name += ` \fI` + roff(value) + `\fP`
			}
			fmt.Fprintf(&b, ".TP\n%s\n%s.\n", name, roff(strings.TrimSuffix(usage, ".")))
		})
	}
	return b.String() + rest
}

// roff returns text as it stands in a page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, "'") || strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
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
\fBMAIL\fP
The mailbox in which messages are looked up if no --mailbox is given.
.TP
\fBURLGET_CONFIG\fP
The configuration file.
.TP
\fBXDG_CONFIG_HOME\fP, \fBXDG_DATA_HOME\fP
Where the configuration file and the known certificates are, in place of ~/.config and ~/.local/share.
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
~/.config/urlget/config
One long flag a line, then sections for hosts and schemes.
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
