package telnet

import (
	"testing"

	"github.com/urlget/urlget/fetch"
)

// TestPromptsThatGetAPassword checks which output the password answers.
func TestPromptsThatGetAPassword(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"\r\nPassword: ":                        "secret\r",
		"Welcome\r\njoe@code.example password>": "secret\r",
		"Enter passphrase for joe:":             "secret\r",
		"login: ":                               "joe\r",
		"User ID:":                              "joe\r",
		"Your password expires: tomorrow\r\n$ ": "",
		"Password:\r\nLogin incorrect\r\n":      "",
		"New password: ":                        "",
		"Retype new password:":                  "",
		"Enter PASSCODE:":                       "",
		"One-time password (OATH): ":            "",
		"Verification code:":                    "",
		"password":                              "",
		"":                                      "",
	} {
		g := &autoLogin{cred: fetch.Credential{User: "joe", Password: "secret"}}
		if got := string(g.respond([]byte(output))); got != want {
			t.Errorf("%q gets %q, want %q", output, got, want)
		}
	}
}
