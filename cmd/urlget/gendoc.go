//go:build gendoc

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/tools/manpages"
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
If several URLs fail, the first failure in argument order sets the status.
.TP
\fB0\fP
All URLs were retrieved, or not modified.
.TP
\fB1\fP
Any other error.
.TP
\fB2\fP
Usage error or malformed URL.
.TP
\fB3\fP
Local file error, including standard output.
.TP
\fB4\fP
Network failure: name resolution, connection or timeout.
.TP
\fB5\fP
TLS failure, or an SSH host key that does not match.
.TP
\fB6\fP
Authentication failure.
.TP
\fB7\fP
Protocol violation by the server, including redirect loops.
.TP
\fB8\fP
The server refused the request: not found, forbidden, error or busy.
.TP
\fB16\fP
Not retrievable: unknown scheme, mailto, a session without a terminal or input, a search without words.
.TP
\fB17\fP
Refused by policy; nothing was sent.
.TP
\fB18\fP
The transfer is incomplete, the content changed or is too large, or the checksum does not match.
.TP
\fB130\fP
Interrupted.
.SH ENVIRONMENT
.TP
\fBhttp_proxy\fP, \fBhttps_proxy\fP, \fBftp_proxy\fP, \fBall_proxy\fP, \fBno_proxy\fP
Proxies, and hosts to connect to without a proxy.
.TP
\fBNETRC\fP
The netrc file, instead of ~/.netrc.
.TP
\fBNNTPSERVER\fP
The news server for URLs without a host.
.TP
\fBMAIL\fP
The mailbox to search for messages, unless --mailbox is set.
.TP
\fBURLGET_CONFIG\fP
The configuration file.
.TP
\fBXDG_CONFIG_HOME\fP, \fBXDG_DATA_HOME\fP
Directories of the configuration file and of trusted certificates, instead of ~/.config and ~/.local/share.
.TP
\fBSSL_CERT_FILE\fP, \fBSSL_CERT_DIR\fP
Trusted certificate authorities, instead of those of the system.
.TP
\fBSSH_AUTH_SOCK\fP
The socket of the SSH agent.
.TP
\fBNO_COLOR\fP
Disables colors if it is not empty.
.TP
\fBPATH\fP
Directories of the programs for experimental schemes: urlget-x-NAME serves x-NAME.
.SH FILES
.TP
~/.config/urlget/config
The configuration file: one long flag per line, with sections for hosts and schemes.
.TP
~/.netrc
Logins by host.
.TP
~/.ssh/config, ~/.ssh/known_hosts
Settings and host keys of SSH servers.
.TP
~/.local/share/urlget/certificates
Trusted certificates of Gemini servers.
.TP
NAME.part, NAME.part.json
A partial download and its metadata. The same command with -c resumes it.
`
