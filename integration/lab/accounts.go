package lab

// useAccounts makes User and ftp accounts of the system for the children, with the served folder as
// home. PAM checks passwords with the file htpasswd. The system's own accounts do not change,
// because the children have a mount namespace of their own.
func (p *process) useAccounts() error {
	if err := p.config("passwd", "group", "pam-service", "accounts"); err != nil {
		return err
	}
	if err := p.mkdir("pam.d", 0o755); err != nil {
		return err
	}
	// PAM service names: vsftpd's, and the built-in ones of in.rlogind, login(1) and sshd.
	for _, name := range []string{"urlget-lab", "rlogin", "login", "sshd"} {
		if err := p.link("pam-service", "pam.d/"+name); err != nil {
			return err
		}
	}
	p.wrapper = []string{"unshare", "--mount", "--propagation", "private", "@DIR@/accounts"}
	return nil
}
