package prompt

import "testing"

func TestPrompts(t *testing.T) {
	t.Parallel()
	for want, prompts := range map[string][]string{
		"password": {"Password:", "joe@code.example's password:", "Password for joe@token.pin.example:", "(joe@new) Password: ",
			"TACACS Password:", "Enter passphrase for key 'x':", "Current password:", "Old Password: ", "(current) UNIX password:",
			"Passwort:", "Mot de passe :", "パスワード:", "密码:", "Пароль:", "Password for newton on decoder:", "LDAP Password"},
		"new": {"New password:", "New UNIX password: ", "Enter new password:", "Retype new password:", "Re-enter password:", "Confirm password:",
			"Password (again):", "Repeat password: ", "Neues Passwort:", "Nouveau mot de passe :", "新しいパスワード:", "新密码:"},
		"": {"", "login:", "Verification code:", "One-time password (OATH):", "OTP password:", "Enter PASSCODE:", "Password or token:",
			"Do you agree (yes/no)?", "Change password? (y/n)", "Enter PIN and password:", "Password + verification code:", "joe@host:", "Reset password code:"},
	} {
		for _, p := range prompts {
			got := ""
			switch {
			case IsPassword(p) && IsNewPassword(p):
				got = "both"
			case IsPassword(p):
				got = "password"
			case IsNewPassword(p):
				got = "new"
			}
			if got != want {
				t.Errorf("%q is %q, want %q", p, got, want)
			}
		}
	}
}
