//go:build gendoc

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/internal/manpages"
)

// With the build tag gendoc, the command writes its man pages to a directory:
// go run -tags gendoc ./cmd/urlget DIR. The regular command does not link the generator.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendoc DIR")
		os.Exit(exitUsage)
	}
	a := newApp(nil, stdio{}, nil)
	err := manpages.Write(os.Args[1], a.command(), manpages.Options{
		Version: programVersion(),
		Groups:  func(cmd *cobra.Command) []manpages.Group { return groups(a.table, cmd) },
		Sections: func(cmd *cobra.Command) string {
			if cmd.HasParent() {
				return "\n.SH EXIT STATUS\nSee \\fBurlget(1)\\fP, also for ENVIRONMENT and FILES.\n"
			}
			return manSections
		},
		Skip: func(cmd *cobra.Command) bool { return cmd.HasParent() && isQueueCommand([]string{cmd.Name()}) }, // urlget-queue writes those
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFile)
	}
}

// groups returns the flags of a command in the groups of --help.
func groups(table flags.Table, cmd *cobra.Command) []manpages.Group {
	var all []manpages.Group
	for _, g := range table.Groups(cmd.Flags()) {
		all = append(all, manpages.Group{Title: g.Title, Flags: g.Flags})
	}
	return all
}

// manSections are the sections that are not part of --help, in roff.
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
