// Package prompt tells prompts for a password, which a stored password answers, from those for codes,
// for a new password and for consent, which only the user can answer.
package prompt

import (
	"slices"
	"strings"
)

// passwordWords are the words for a password in prompts of PAM and of common devices, in lower case.
var passwordWords = []string{"password", "passphrase", "passwd", "passwort", "kennwort", "mot de passe",
	"contraseña", "contrasenya", "senha", "palavra-passe", "wachtwoord", "lösenord", "passord",
	"adgangskode", "salasana", "hasło", "heslo", "jelszó", "parola", "şifre", "пароль", "密码", "密碼",
	"パスワード", "암호", "비밀번호"}

// otherWords occur in prompts for codes and for consent.
var otherWords = []string{"one-time", "one time", "otp", "totp", "verification", "token", "code", "passcode",
	"tokencode", "pin", "yes/no", "y/n"}

// newWords occur in prompts for a new password, which follow a login with an expired one.
var newWords = []string{"new", "retype", "re-type", "reenter", "re-enter", "repeat", "confirm", "again",
	"neues", "nouveau", "nueva", "nova", "nuova", "nieuw", "nytt", "nowe", "nové", "новый",
	"新しい", "新的", "新密码", "新密碼", "새"}

// IsPassword reports whether a prompt asks for the present password.
func IsPassword(prompt string) bool {
	text := normal(prompt)
	return isAbout(text) && !hasWord(text, otherWords) && !hasWord(text, newWords)
}

// IsNewPassword reports whether a prompt asks for a new password.
func IsNewPassword(prompt string) bool {
	text := normal(prompt)
	return isAbout(text) && !hasWord(text, otherWords) && hasWord(text, newWords)
}

// normal returns a prompt in lower case, without addresses such as "joe@code.example", which may have
// any words.
func normal(prompt string) string {
	words := strings.Fields(strings.ToLower(prompt))
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return isAddress(w) }), " ")
}

// isAddress reports whether a word is an address and no more, as in "joe@host" or "(joe@host)".
func isAddress(word string) bool {
	return strings.Contains(word, "@") && !isAbout(word)
}

func isAbout(text string) bool {
	return slices.ContainsFunc(passwordWords, func(word string) bool { return strings.Contains(text, word) })
}

// hasWord reports whether one of the words is in text, and not as a part of a longer word of ASCII
// letters.
func hasWord(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		for at := 0; ; {
			i := strings.Index(text[at:], word)
			if i < 0 {
				return false
			}
			start, end := at+i, at+i+len(word)
			if (start == 0 || !isLetter(text[start-1])) && (end == len(text) || !isLetter(text[end])) {
				return true
			}
			at = end
		}
	})
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
