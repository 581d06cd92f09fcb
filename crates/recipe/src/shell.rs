//! x
/// x
pub enum Piece<'a> {
    /// x
    Text(&'a str),
    /// x
    Hole(usize),
}
